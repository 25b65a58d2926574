import { expect, test } from 'vitest'
import { openSharedStack } from '../../environment/shared-stack.ts'
import { until } from '../../environment/wait.ts'
import { changedRequest, exchange } from './servers/request.ts'
import { fuzzServer, openServers } from './servers/run.ts'

// A sample of `npm run test:fuzz`.
test('servers answer generated requests without an error of theirs, and no process ends', async () => {
  const stack = await openSharedStack()
  const before = (await stack.info()).processes
  for (const server of await openServers(stack)) {
    // Which changed requests succeed depends on the IDs in them. An unchanged one must.
    const unchanged = { request: 0, part: 'nothing' as const, header: 0, edits: [] }
    await until(`success of ${server.name}`, async () => {
      const valid = changedRequest(server, await server.validRequests(), unchanged)
      return [200, 202].includes((await exchange(server.url, valid)).status ?? 0)
    })
    expect((await fuzzServer(server, { requests: 100, seed: 1 })).violations).toEqual([])
  }
  expect((await stack.info()).processes).toEqual(before)
  await stack.close()
})
