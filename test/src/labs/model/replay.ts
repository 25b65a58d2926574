import { join } from 'node:path'
import { openEvaluator } from './quint.ts'

/** A change of an import's row, as a trigger records it. */
export interface RecordedChange {
  appId: number
  importId: string
  /** The sequence number of the import. */
  number: number
  isNew: boolean
  isGone: boolean
  isDryRun: boolean
  hasBounds: boolean
  /** The claim may pass earlier imports that are still uploading. */
  hasWaited: boolean
  /** Imports whose file came so recently that the claim may not have seen it. */
  unseen: readonly number[]
  madeAt: Date
  row: RecordedRow
}

interface RecordedRow {
  state: string
  attempt: number
  position: number
  holdsOrder: boolean
  isChecked: boolean
  reportDue: boolean
}

/** The changes of the imports of any apps, in the order in which they were made. */
export type History = readonly RecordedChange[]

const evaluate = openEvaluator(join(import.meta.dirname, 'history.qnt'), 'history')

/** The number of pieces of histories so far, which name themselves by it. */
let pieces = 0

/**
 * Replays a history: each change must be one that the model of `imports.qnt` allows. Returns the first change of each
 * app that it does not allow, in words.
 */
export async function replay(history: History): Promise<string[]> {
  const apps = [...Map.groupBy(history, ({ appId }) => appId).values()]
  return (await Promise.all(apps.map(async (changes) => violationOf(changes, await firstWrong(changes))))).flat()
}

/** Returns the index of the first change of an app that the model refuses; -1 if there is none. */
async function firstWrong(changes: History): Promise<number> {
  const names: string[] = []
  const definitions: string[] = []
  for (let at = 0; at < changes.length; at += pieceEvents) {
    names.push(`piece${pieces++}`)
    const events = changes.slice(at, at + pieceEvents).map(toRecorded)
    definitions.push(`pure val ${names.at(-1)}: List[Recorded] = [${events}]`)
  }
  const index = await evaluate(definitions, `firstWrongOf([${names}])`)
  if (/^-?\d+$/.test(index)) return Number(index)
  throw new Error(`quint failed: ${index}`)
}

/** Quint checks a list in a time that grows faster than its length. */
const pieceEvents = 100

/** Returns a change as a `Recorded` of history.qnt. */
function toRecorded({ number, isNew, isGone, isDryRun, hasBounds, hasWaited, unseen, row }: RecordedChange): string {
  const flags = [isNew, isGone, isDryRun, hasBounds, hasWaited, row.holdsOrder, row.isChecked, row.reportDue]
  const sum = flags.reduce((total, flag, index) => total + (flag ? 2 ** index : 0), 0)
  return `(${number}, ${sum}, ${JSON.stringify(row.state)}, ${row.attempt}, ${row.position}, [${unseen}])`
}

/** Describes a change that the model does not allow, with the changes before it. */
function violationOf(changes: History, wrong: number): string[] {
  const change = changes[wrong]
  if (change === undefined) return []
  const before = changes.slice(Math.max(0, wrong - 8), wrong).map(told)
  return [`app ${change.appId}: the model does not allow ${told(change)} after ${before.join('; ')}`]
}

function told({ number, importId, isNew, isGone, hasWaited, unseen, madeAt, row }: RecordedChange): string {
  const about = [isNew && 'new', isGone && 'gone', hasWaited && 'waited', unseen.length > 0 && `unseen ${unseen}`]
  const begin = `${madeAt.toISOString()} number ${number} (${importId})`
  return [begin, ...about.filter(Boolean), JSON.stringify(row)].join(' ')
}
