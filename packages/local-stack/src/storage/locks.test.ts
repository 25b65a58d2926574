import { expect, test } from 'vitest'
import { NamedLocks } from './locks.ts'

test('calls under one name run in order, one at a time, even after a failure; other names do not wait', async () => {
  const locks = new NamedLocks()
  const events: string[] = []
  const { promise: gate, resolve: openGate } = Promise.withResolvers<void>()
  const first = locks.run('a', async () => {
    await gate
    events.push('first')
    throw new Error('failed')
  })
  const second = locks.run('a', async () => events.push('second'))
  await locks.run('b', async () => events.push('other'))
  openGate()
  await expect(first).rejects.toThrow('failed')
  await second
  expect(events).toEqual(['other', 'first', 'second'])
})
