import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { hasProgram } from '../environment/program.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openApp } from '../stack/client.ts'
import { cases } from './conformance/cases/index.ts'
import { drivers } from './conformance/drivers.ts'
import { runCase } from './conformance/run-case.ts'
import { python } from './python-program.ts'

// What every client of the API must do, by the clients of this repository. Each case has an app of its own, and mostly
// waits, so some run at the same time.
const stack = openBeforeAll(openSharedStack)

describe.each([
  ['JavaScript', true],
  ['Python', await hasProgram(python)],
] as const)('the client for %s', (language, isPresent) => {
  test.skipIf(!isPresent).concurrent.each(cases.map((each) => [each.name, each] as const))('%s', async (_, each) => {
    const { token } = await openApp(stack)
    expect(await runCase(each, drivers[language], { api: stack.api, token })).toEqual([])
  })
})
