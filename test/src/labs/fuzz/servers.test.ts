import { expect, test } from 'vitest'
import { openSharedStack } from '../../environment/shared-stack.ts'
import { fuzzServer } from './servers/fuzz.ts'
import { openServers } from './servers/run.ts'

// A sample of `npm run test:fuzz`.
const requests = 100
const seed = 1

test('servers answer generated requests without an error of theirs, and no process ends', async () => {
  const stack = await openSharedStack()
  const before = (await stack.info()).processes
  for (const server of await openServers(stack)) {
    const { violations, statuses } = await fuzzServer(server, { requests, seed })
    const bad = violations.map(({ number, request, answer }) => ({
      number,
      request: request.toString('latin1'),
      answer,
    }))
    expect(bad).toEqual([])
    expect([...statuses.keys()]).toContain(200)
  }
  expect((await stack.info()).processes).toEqual(before)
  await stack.close()
})
