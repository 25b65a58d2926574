// npm run conformance -- --driver "python3 driver.py": checks a client of the API against a running Sluice.
// Without --api, it uses the stack of `npm start` on this machine, with an app for each case. With --api and --token,
// it uses one app, one case after another; the app's limit of bulk imports must allow 60 of them. Without --driver, it
// checks the clients of this repository. --only chooses cases by a part of their names.
import { parseArgs } from 'node:util'
import { defaultHome, readStackInfo } from '@sluice/local-stack'
import { openApp } from '../../stack/client.ts'
import { openStack } from '../../stack/running-stack.ts'
import type { Case } from './case.ts'
import { cases } from './cases/index.ts'
import { drivers } from './drivers.ts'
import { type Driver, runCase, type Target } from './run-case.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({ options: { driver: text, api: text, token: text, only: { ...text, default: '' } } })
const chosen = cases.filter(({ name }) => name.includes(values.only))
const command = values.driver?.split(' ')
const given = command && { command: command as [string, ...string[]], env: process.env as Record<string, string> }

/** Where cases run: the app of the next case, and how many cases may run at a time. */
interface Place extends AsyncDisposable {
  lanes: number
  target(): Promise<Target>
}

async function openPlace(): Promise<Place> {
  const { api, token } = values
  if (api !== undefined && token !== undefined)
    return { lanes: 1, target: async () => ({ api, token }), async [Symbol.asyncDispose]() {} }
  const home = process.env.SLUICE_HOME ?? defaultHome
  if ((await readStackInfo(home)) === undefined) {
    console.error('There is no stack on this machine. Run npm start in another terminal, or name --api and --token.')
    process.exit(2)
  }
  const stack = await openStack(home)
  return {
    lanes: 4,
    target: async () => ({ api: stack.api, token: (await openApp(stack)).token }),
    [Symbol.asyncDispose]: () => stack.close(),
  }
}

/** Runs all cases with a driver, and prints each as it ends. Returns the number of cases that failed. */
async function runAll(name: string, driver: Driver, place: Place): Promise<number> {
  const waiting: Case[] = [...chosen]
  let failed = 0
  const runSome = async () => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
      const wrong = await runCase(each, driver, await place.target()).catch((error: Error) => [error.message])
      if (wrong.length > 0) failed++
      console.log([`${wrong.length === 0 ? 'ok    ' : 'FAILED'} ${name}: ${each.name}`, ...wrong].join('\n         '))
    }
  }
  await Promise.all(Array.from({ length: place.lanes }, runSome))
  console.log(`${name}: ${chosen.length - failed} cases passed, ${failed} failed`)
  return failed
}

await using place = await openPlace()
let failures = 0
for (const [name, driver] of Object.entries(given ? { client: given } : drivers))
  failures += await runAll(name, driver, place)
process.exitCode = failures > 0 || chosen.length === 0 ? 1 : 0
