import { expect, test } from 'vitest'
import { openShares } from './shares.ts'

test('an owner can hold at most a share, and the others the rest', () => {
  const shares = openShares({ all: 10, each: 4 })
  expect(shares.take(['a'], 5)).toBeUndefined()
  expect(shares.take(['a'], 4)).toBeDefined()
  expect(shares.take(['a'])).toBeUndefined()
  expect(shares.take(['b'], 4)).toBeDefined()
  expect(shares.take(['c'], 3)).toBeUndefined()
  expect(shares.take(['c'], 2)).toBeDefined()
  expect(shares.take(['d'])).toBeUndefined()
})

test('an amount for two owners counts once for each of them', () => {
  const shares = openShares({ all: 10, each: 2 })
  const release = shares.take(['app', 'person', 'app'], 2)
  expect(shares.take(['app'])).toBeUndefined()
  expect(shares.take(['person', 'another app'])).toBeUndefined()
  release?.()
  expect(shares.take(['app'], 2)).toBeDefined()
  expect(shares.take(['person'], 2)).toBeDefined()
})

test('an amount is released once, however often its release is called', () => {
  const shares = openShares({ all: 3, each: 2 })
  const release = shares.take(['a'])
  expect(shares.take(['a'])).toBeDefined()
  release?.()
  release?.()
  expect(shares.take(['a'])).toBeDefined()
  expect(shares.take(['a'])).toBeUndefined()
})
