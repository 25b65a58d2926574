import { expect, expectTypeOf, test } from 'vitest'
import type { z } from 'zod'
import type { exportAnswer, exportView } from './export.ts'
import type { importSources, importStates, importView, uploadDescriptor } from './import.ts'
import type { importList } from './import-list.ts'
import type { newKeysChoices } from './import-options.ts'
import { schemas } from './openapi/schemas.ts'
import type * as wire from './wire-types.ts'

test('the types that the client package publishes are those of the schemas', () => {
  // The type check, not the test run, fails if a schema and its type differ.
  expectTypeOf<z.output<typeof importView>>().toEqualTypeOf<wire.ImportView>()
  expectTypeOf<z.output<typeof importList>>().toEqualTypeOf<wire.ImportList>()
  expectTypeOf<z.output<typeof uploadDescriptor>>().toEqualTypeOf<wire.UploadDescriptor>()
  expectTypeOf<z.output<typeof exportView>>().toEqualTypeOf<wire.ExportView>()
  expectTypeOf<z.output<typeof exportAnswer>>().toEqualTypeOf<wire.ExportAnswer>()
  expectTypeOf<(typeof importStates)[number]>().toEqualTypeOf<wire.ImportState>()
  expectTypeOf<(typeof importSources)[number]>().toEqualTypeOf<wire.ImportSource>()
  expectTypeOf<(typeof newKeysChoices)[number]>().toEqualTypeOf<wire.NewKeys>()
})

test('the document lists the same members of a user and of an update as the types', () => {
  const user: wire.UserDocument = { user_id: 'alice', profiles: {}, campaign_target: true, deletion: null }
  const update: wire.ProfileUpdateAnswer = { user_id: 'alice', user_profiles: [] }
  expect(schemas.User.required).toEqual(Object.keys(user))
  expect(schemas.ProfileUpdateAnswer.required).toEqual(Object.keys(update))
})
