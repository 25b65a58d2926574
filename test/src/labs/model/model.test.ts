import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../mutations/copy.ts'
import { invariants, modelFile, modelMutations, simulate } from './quint.ts'
import { type RecordedChange, replay } from './replay.ts'

const traces = Number(process.env.TRACES ?? 5_000)

/** States that the traces must reach: without them, the invariants would say nothing about them. */
const witnesses = [
  'applied.length() >= 4',
  'imports.keys().exists(n => imports.get(n).state == "held")',
  'imports.keys().exists(n => imports.get(n).undoOf > 0 and imports.get(n).state == "completed")',
  'imports.keys().exists(n => imports.get(n).isChecked and imports.get(n).state == "completed")',
  'imports.keys().exists(n => imports.get(n).holdsOrder and imports.get(n).state == "queued")',
  'user.deletedAt > 0 and user.isRegistered and applied.length() > 0',
]

test('no random trace of the model breaks an invariant, and the traces come to everything that the model knows', {
  timeout: 30_000 + traces * 100,
}, async () => {
  const { holds, output } = await simulate(modelFile, { traces, steps: 30, invariants, witnesses })
  expect(holds, output).toBe(true)
  for (const witness of witnesses) expect(output).toMatch(witnessed(witness))
})

function witnessed(witness: string): RegExp {
  return new RegExp(`${RegExp.escape(witness)} was witnessed in [1-9]`)
}

test('the page about imports names the invariants of the model', () => {
  const page = readFileSync(join(root, 'packages/engine/imports/README.md'), 'utf8')
  for (const invariant of invariants) expect(page).toContain(`\`${invariant}\``)
})

test('each invariant has a mutation of the model, which can be applied', () => {
  const model = readFileSync(modelFile, 'utf8')
  const mutations = modelMutations()
  expect([...new Set(mutations.map(({ invariant }) => invariant))].toSorted()).toEqual([...invariants].toSorted())
  for (const { change, find } of mutations) expect(model.split(find), change).toHaveLength(2)
})

const queued = { state: 'queued', attempt: 0, position: 0, holdsOrder: false, isChecked: false, reportDue: false }
const running = { ...queued, state: 'processing', attempt: 1 }
const expired = { ...queued, state: 'expired' }

function change(number: number, row: RecordedChange['row'], about: Partial<RecordedChange> = {}): RecordedChange {
  const flags = {
    isNew: false,
    isGone: false,
    isDryRun: false,
    hasBounds: false,
    hasWaited: false,
    unseen: [],
    madeAt: new Date(0),
  }
  return { appId: 1, importId: `import-${number}`, number, row, ...flags, ...about }
}

const first = [change(1, queued, { isNew: true }), change(1, running)]
const second = change(2, queued, { isNew: true })
const uploading = change(1, { ...queued, state: 'awaiting_upload' }, { isNew: true })

const allowed: [string, RecordedChange[]][] = [
  [
    'a batch, a release and an end',
    [
      ...first,
      change(1, { ...running, position: 10 }),
      change(1, { ...queued, attempt: 1, position: 10, holdsOrder: true }),
      change(1, { ...running, attempt: 2, position: 10, holdsOrder: true }),
      change(1, { ...running, attempt: 2, position: 10, holdsOrder: true, state: 'completed' }),
    ],
  ],
  ['a claim that passes an upload after its wait', [uploading, second, change(2, running, { hasWaited: true })]],
  [
    'a claim that did not see an upload',
    [uploading, second, change(1, queued), change(2, running, { hasWaited: true, unseen: [1] })],
  ],
  [
    'a request whose upload was refused',
    [uploading, change(1, expired), change(1, expired, { isGone: true }), second, change(2, running)],
  ],
]

const refused: [string, RecordedChange[]][] = [
  ['two active imports', [...first, second, change(2, running)]],
  ['a claim before an earlier import', [change(1, queued, { isNew: true }), second, change(2, running)]],
  ['a claim that waits for no upload', [uploading, second, change(2, running)]],
  [
    'a release that gives up its place',
    [...first, change(1, { ...running, position: 10 }), change(1, { ...queued, attempt: 1, position: 10 })],
  ],
  ['an attempt that is left out', [change(1, queued, { isNew: true }), change(1, { ...running, attempt: 2 })]],
  [
    'a position that goes back',
    [...first, change(1, { ...running, position: 10 }), change(1, { ...running, position: 5 })],
  ],
  ['a removal of an import that has not expired', [uploading, change(1, uploading.row, { isGone: true })]],
  ['an end without a run', [change(1, queued, { isNew: true }), change(1, { ...queued, state: 'completed' })]],
  ['a change after the end', [...first, change(1, { ...running, state: 'completed' }), change(1, running)]],
  ['a cancelling without a report', [...first, change(1, { ...queued, state: 'cancelled', attempt: 1 })]],
]

test('the model allows what imports do, and nothing that breaks their rules', async () => {
  const judge = async ([name, history]: [string, RecordedChange[]]) => [name, (await replay(history)).length] as const
  const counts = new Map(await Promise.all([...allowed, ...refused].map(judge)))
  for (const [name] of allowed) expect(counts.get(name), name).toBe(0)
  for (const [name] of refused) expect(counts.get(name), name).toBe(1)
})
