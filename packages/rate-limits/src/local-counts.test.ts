import { beforeEach, expect, test } from 'vitest'
import { type LocalCounts, openLocalCounts } from './local-counts.ts'

let time: number
let counts: LocalCounts
beforeEach(() => {
  time = 1_000
  counts = openLocalCounts(() => time)
})

test('a request that the store missed has the place after what the store said last', () => {
  expect(counts.counted('a', { place: 7, resetAfter: 500 })).toEqual({ place: 7, resetAfter: 500 })
  time += 100
  expect(counts.missed('a', 60_000)).toEqual({ place: 8, resetAfter: 400 })
  expect(counts.missed('a', 60_000)).toEqual({ place: 9, resetAfter: 400 })
  expect(counts.missed('b', 60_000)).toEqual({ place: 1, resetAfter: 60_000 })
})

test('what the store missed counts when it answers again, until the window ends', () => {
  counts.missed('a', 1_000)
  counts.missed('a', 1_000)
  expect(counts.counted('a', { place: 1, resetAfter: 60_000 }).place).toBe(3)
  expect(counts.missed('a', 1_000).place).toBe(4)
  time += 1_000
  expect(counts.counted('a', { place: 2, resetAfter: 59_000 }).place).toBe(2)
})

test('what the store counted late counts once', () => {
  counts.missed('a', 1_000)
  counts.late('a')
  expect(counts.counted('a', { place: 2, resetAfter: 900 }).place).toBe(2)
})

test('a window that began in the store is followed when nothing was missed', () => {
  counts.counted('a', { place: 9, resetAfter: 10 })
  expect(counts.counted('a', { place: 1, resetAfter: 60_000 })).toEqual({ place: 1, resetAfter: 60_000 })
})

test('keys are forgotten, the oldest first, before they fill the memory', () => {
  for (let key = 0; key < 30_000; key++) counts.missed(`key ${key}`, 60_000)
  expect(counts.missed('key 29999', 60_000).place).toBe(2)
  expect(counts.missed('key 0', 60_000).place).toBe(1)
})
