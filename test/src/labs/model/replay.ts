import { join, relative } from 'node:path'
import { evaluate } from './quint.ts'

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

interface Waiting {
  history: History
  resolve(violations: string[]): void
  reject(error: unknown): void
}

const waiting: Waiting[] = []
let isReplaying = false

/**
 * Replays a history: each change must be one that the model of `imports.qnt` allows. Returns the first change of each
 * app that it does not allow, in words. Histories that come during a replay are replayed together after it, because the
 * model takes a second to load.
 */
export function replay(history: History): Promise<string[]> {
  return new Promise((resolve, reject) => {
    waiting.push({ history, resolve, reject })
    void replayWaiting()
  })
}

async function replayWaiting(): Promise<void> {
  if (isReplaying) return
  isReplaying = true
  for (let group = waiting.splice(0); group.length > 0; group = waiting.splice(0)) {
    const apps = group.map(({ history }) => [...Map.groupBy(history, ({ appId }) => appId).values()])
    try {
      const wrong = await firstWrong(apps.flat())
      for (const [index, { resolve }] of group.entries()) {
        const ofGroup = apps[index] ?? []
        const places = wrong.splice(0, ofGroup.length)
        resolve(ofGroup.flatMap((changes, app) => violationOf(changes, places[app] ?? -1)))
      }
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  isReplaying = false
}

/** Returns the index of the first change that the model refuses in each history of an app; -1 if there is none. */
async function firstWrong(histories: readonly History[]): Promise<number[]> {
  if (histories.length === 0) return []
  const pieces: string[] = []
  const names = histories.map((history) => {
    const own: string[] = []
    for (let at = 0; at < history.length; at += pieceEvents) {
      own.push(`piece${pieces.length}`)
      const events = history.slice(at, at + pieceEvents).map(toRecorded)
      pieces.push(`pure val ${own.at(-1)}: List[Recorded] = [${events}]`)
    }
    return own
  })
  const module = (folder: string) => `
module recorded {
  import history.* from ${JSON.stringify(relative(folder, join(import.meta.dirname, 'history')))}
  ${pieces.join('\n  ')}
  var firstWrong: List[int]
  action init = firstWrong' = [${names.map((own) => `firstWrongOf([${own}])`)}]
  action step = firstWrong' = firstWrong
}
`
  const { firstWrong: places } = await evaluate(module, 'recorded')
  return places as number[]
}

/** Quint checks a list in a time that grows faster than its length. */
const pieceEvents = 50

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
