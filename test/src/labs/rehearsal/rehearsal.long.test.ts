import { expect, inject, test } from 'vitest'
import { rehearse } from './rehearsal.ts'

const few = { apps: 2, importsOfApp: 3, rowsOfImport: 3_000 }

test('a database that is restored from a dump, with an empty queue in it, ends every import that the dump knew', async () => {
  const { violations, imports, ended, processing, waiting } = await rehearse({ queue: 'postgres', ...few })
  expect(violations).toEqual([])
  expect(imports).toBe(6)
  expect(ended).toBeGreaterThan(0)
  expect(processing + waiting).toBeGreaterThan(0)
})

test.skipIf(inject('redisUrl') === undefined)('the same holds with an empty Redis', async () => {
  expect((await rehearse({ queue: 'redis', ...few })).violations).toEqual([])
})
