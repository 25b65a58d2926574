import { beforeEach, expect, test } from 'vitest'
import { type LocalCounts, openLocalCounts } from './local-counts.ts'

let time: number
let counts: LocalCounts
beforeEach(() => {
  time = 1_000
  counts = openLocalCounts(() => time)
})

test('a request that the store missed follows the last position that the store returned', () => {
  expect(counts.counted('a', { position: 7, resetAfterMs: 500 })).toEqual({ position: 7, resetAfterMs: 500 })
  time += 100
  expect(counts.missed('a', 60_000)).toEqual({ position: 8, resetAfterMs: 400 })
  expect(counts.missed('a', 60_000)).toEqual({ position: 9, resetAfterMs: 400 })
  expect(counts.missed('b', 60_000)).toEqual({ position: 1, resetAfterMs: 60_000 })
})

test('requests that the store missed count after it answers again, until the window ends', () => {
  counts.missed('a', 1_000)
  counts.missed('a', 1_000)
  expect(counts.counted('a', { position: 1, resetAfterMs: 60_000 }).position).toBe(3)
  expect(counts.missed('a', 1_000).position).toBe(4)
  time += 1_000
  expect(counts.counted('a', { position: 2, resetAfterMs: 59_000 }).position).toBe(2)
})

test('a request that the store counted late counts once', () => {
  counts.missed('a', 1_000)
  counts.late('a', 1)
  expect(counts.counted('a', { position: 2, resetAfterMs: 900 }).position).toBe(2)
})

test('requests that passed here before the store counted them leave no room for requests that precede them there', () => {
  for (const position of [1, 2, 3]) expect(counts.missed('a', 60_000).position).toBe(position)
  for (const position of [5, 6, 7]) counts.late('a', position)
  expect(counts.counted('a', { position: 4, resetAfterMs: 900 }).position).toBe(7)
  expect(counts.counted('a', { position: 8, resetAfterMs: 900 }).position).toBe(8)
})

test('a window that began in the store applies here if no request was missed', () => {
  counts.counted('a', { position: 9, resetAfterMs: 10 })
  expect(counts.counted('a', { position: 1, resetAfterMs: 60_000 })).toEqual({ position: 1, resetAfterMs: 60_000 })
})

test('the oldest keys are forgotten before they fill the memory', () => {
  for (let key = 0; key < 30_000; key++) counts.missed(`key ${key}`, 60_000)
  expect(counts.missed('key 29999', 60_000).position).toBe(2)
  expect(counts.missed('key 0', 60_000).position).toBe(1)
})
