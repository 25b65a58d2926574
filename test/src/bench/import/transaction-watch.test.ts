import { expect, test } from 'vitest'
import { TransactionWatch } from './transaction-watch.ts'

test('locks count from the look before the first that sees them, until the look that does not see them any more', () => {
  const watch = new TransactionWatch(1000)
  watch.look(1010, [])
  watch.look(1020, [{ xid: '1', age: 300, doing: 'copy profiles' }])
  watch.look(1030, [
    { xid: '1', age: 310, doing: 'commit, WALSync' },
    { xid: '2', age: 20, doing: 'copy profiles' },
  ])
  expect(watch.longest).toEqual({ locked: 0, doing: '', age: 310 })
  watch.look(1040, [{ xid: '2', age: 30, doing: 'copy profiles' }])
  expect(watch.longest).toEqual({ locked: 30, doing: 'commit, WALSync', age: 310 })
  watch.look(1100, [{ xid: '3', age: 5, doing: 'copy profiles' }])
  expect(watch.longest).toEqual({ locked: 80, doing: 'copy profiles', age: 310 })
  watch.look(1110, [])
  expect(watch.longest).toEqual({ locked: 80, doing: 'copy profiles', age: 310 })
})

test('a transaction that is there at the first look counts from the beginning', () => {
  const watch = new TransactionWatch(1000)
  watch.look(1010, [{ xid: '1', age: 700, doing: 'update' }])
  watch.look(1600, [])
  expect(watch.longest).toEqual({ locked: 600, doing: 'update', age: 700 })
})
