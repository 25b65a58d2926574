import { expect, test } from 'vitest'
import { openSharedStack } from '../../environment/shared-stack.ts'
import { fuzzServer, openServers } from './servers/run.ts'

// A sample of `npm run test:fuzz`.
test('servers answer generated requests without an error of theirs, and no process ends', async () => {
  const stack = await openSharedStack()
  const before = (await stack.info()).processes
  for (const server of await openServers(stack)) {
    const { violations, statuses } = await fuzzServer(server, { requests: 100, seed: 1 })
    expect(violations).toEqual([])
    expect([...statuses.keys()]).toContain(200)
  }
  expect((await stack.info()).processes).toEqual(before)
  await stack.close()
})
