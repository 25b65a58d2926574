import { expect, test } from 'vitest'
import { TransactionWatch } from './transaction-watch.ts'

test('locks count from the poll before the first that sees them, until the first poll that does not', () => {
  const watch = new TransactionWatch(1000)
  watch.add(1010, [])
  watch.add(1020, [{ xid: '1', ageMs: 300, activity: 'copy profiles' }])
  watch.add(1030, [
    { xid: '1', ageMs: 310, activity: 'commit, WALSync' },
    { xid: '2', ageMs: 20, activity: 'copy profiles' },
  ])
  expect(watch.longest).toEqual({ lockedMs: 0, activity: '', ageMs: 310 })
  watch.add(1040, [{ xid: '2', ageMs: 30, activity: 'copy profiles' }])
  expect(watch.longest).toEqual({ lockedMs: 30, activity: 'commit, WALSync', ageMs: 310 })
  watch.add(1100, [{ xid: '3', ageMs: 5, activity: 'copy profiles' }])
  expect(watch.longest).toEqual({ lockedMs: 80, activity: 'copy profiles', ageMs: 310 })
  watch.add(1110, [])
  expect(watch.longest).toEqual({ lockedMs: 80, activity: 'copy profiles', ageMs: 310 })
})

test('a transaction that is present at the first poll counts from the beginning', () => {
  const watch = new TransactionWatch(1000)
  watch.add(1010, [{ xid: '1', ageMs: 700, activity: 'update' }])
  watch.add(1600, [])
  expect(watch.longest).toEqual({ lockedMs: 600, activity: 'update', ageMs: 700 })
})
