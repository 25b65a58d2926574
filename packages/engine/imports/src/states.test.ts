import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ImportState, unfinishedImportStates } from '@sluice/contract'
import { expect, test } from 'vitest'
import { isAllowedChange, nextState, stateChanges } from './states.ts'

const states = Object.keys(stateChanges) as ImportState[]
const pairs = states.flatMap((before) => states.map((after) => [before, after] as const))
const allowed = pairs.filter(([before, after]) => isAllowedChange(before, after))

// design.md §5, States.
test('every state is reached from a first state', () => {
  const reached = new Set<ImportState>(['awaiting_upload', 'queued'])
  for (const state of reached) for (const [before, after] of allowed) if (before === state) reached.add(after)
  expect([...reached].sort()).toEqual([...states].sort())
})

test('every unfinished import can end, and can be cancelled', () => {
  for (const state of unfinishedImportStates) expect(isAllowedChange(state, 'cancelled')).toBe(true)
  expect(isAllowedChange('processing', 'completed')).toBe(true)
  expect(isAllowedChange('processing', 'failed')).toBe(true)
})

test('an ended import keeps its state, unless it expired and its file comes late', () => {
  const ended = states.filter((state) => !unfinishedImportStates.some((each) => each === state))
  const changes = allowed.filter(([before, after]) => ended.includes(before) && before !== after)
  expect(changes).toEqual([['expired', 'queued']])
})

test('only a queued import, or the import of a worker whose lease ran out, can be claimed', () => {
  expect(allowed.filter(([, after]) => after === 'processing').map(([before]) => before)).toEqual([
    'queued',
    'processing',
  ])
})

test('a change that the table lacks does not compile', () => {
  nextState(['awaiting_upload', 'expired'], 'queued')
  // @ts-expect-error: an import that still awaits its file cannot run.
  nextState(['awaiting_upload'], 'processing')
  // @ts-expect-error: an expired import may be queued, but a completed one must not.
  nextState(['expired', 'completed'], 'queued')
  // @ts-expect-error: a cancelled import does not complete.
  nextState(['processing', 'cancelled'], 'completed')
})

test('no other statement sets the state of an import', () => {
  const root = fileURLToPath(new URL('../../../..', import.meta.url))
  const files = ['apps', 'packages'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\bsrc\/.*\.ts$/.test(path) && !/\.test\.ts$|\/migrations\//.test(path))
      .map((path) => join(root, folder, path)),
  )
  const setsState = (text: string) =>
    /update imports\b[^`;]*\bset state = '/.test(text) ||
    /updateTable\('imports'\)\s*\.set\(\{[^}]*\bstate: '/.test(text)
  expect(files.length).toBeGreaterThan(100)
  expect(files.filter((file) => setsState(readFileSync(file, 'utf8')))).toEqual([])
})
