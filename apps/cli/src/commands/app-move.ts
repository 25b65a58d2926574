import { cellOf } from '@sluice/accounts'
import { Failure } from '@sluice/client-cli/failure'
import { count } from '@sluice/client-cli/text'
import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { abortMove, type CellDatabase, confirmMove, type Move, type MoveStep, moveApp } from '@sluice/moves'
import { type Command, InvalidArgumentError } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { parseAppId } from '../stack.ts'

/** A statement that copies or compares a large app takes long. */
const queryTimeoutMs = 24 * 60 * 60_000
/** The writers of a table wait after a statement that locks it. */
const lockTimeoutMs = 300

interface MoveOptions {
  app: number
  to: number
  confirm?: true
  abort?: true
}

export function addAppMoveCommand(apps: Command): void {
  const move = apps
    .command('move')
    .description('move an app to the database of another cell while it works')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .requiredOption('--to <cell>', 'number of the cell', parseCell)
    .option('--confirm', 'after the move: remove the rows that stayed behind')
    .option('--abort', 'before the move: remove the copy')
    .action(async ({ app: appId, to, confirm, abort }: MoveOptions) => {
      if (confirm && abort) throw new Failure('choose --confirm or --abort', 2)
      const action = confirm ? 'confirm' : abort ? 'abort' : 'move'
      await withCells(appId, to, async (cells) => {
        await withAudit(
          { appId, what: 'app.move', target: `${action}, cell ${to}` },
          () => actions[action](cells),
          undefined,
          cells.source.url,
        )
      })
      print(move, { app_id: appId, cell: to, action }, () => sentences[action](appId, to))
    })
}

const actions = {
  move: (cells: Move) => moveApp(cells, showStep),
  confirm: confirmMove,
  abort: abortMove,
}

const sentences: Record<keyof typeof actions, (appId: number, to: number) => string> = {
  move: (appId, to) =>
    `App ${appId} is in cell ${to}. Its rows stay here, read-only: sluice apps move --app ${appId} --to ${to} --confirm removes them.`,
  confirm: (appId) => `The rows that app ${appId} left behind are removed.`,
  abort: (appId) => `App ${appId} stays. The copy is removed.`,
}

function parseCell(text: string): number {
  if (!/^(0|[1-9]\d{0,2})$/.test(text)) throw new InvalidArgumentError('it is the number of a cell, such as 1.')
  return Number(text)
}

/** Opens the databases of both cells. The source is the cell of this command. */
async function withCells(appId: number, to: number, work: (move: Move) => Promise<void>): Promise<void> {
  const { CELL, CELL_DATABASES: urls } = readSettings(process.env, ['CELL', 'CELL_DATABASES'])
  const [source, target] = [CELL, to].map((cell) => urls?.get(cell))
  if (source === undefined || target === undefined)
    throw new Failure(
      `CELL_DATABASES must name the databases of cells ${CELL} and ${to}: 0=postgres://… 1=postgres://… (docs/operations.md, Cells)`,
      2,
    )
  if (CELL === to) throw new Failure(`app ${appId} of cell ${cellOf(appId)}: choose another cell than ${CELL}`, 2)
  const options = { connections: 2, queryTimeoutMs, lockTimeoutMs, process: 'move' } as const
  const opened = [source, target].map((url) => connect(url, options))
  try {
    const [from, into] = opened.map(({ db }) => db)
    if (from === undefined || into === undefined) return
    const cells: [CellDatabase, CellDatabase] = [
      { cell: CELL, url: source, db: from },
      { cell: to, url: target, db: into },
    ]
    await work({ appId, source: cells[0], target: cells[1] })
  } finally {
    await Promise.all(opened.map(({ close }) => close()))
  }
}

let shown = ''

/** Tells a person what is done; standard output is for the result. */
function showStep(step: MoveStep): void {
  const text =
    step.step === 'copying'
      ? `Copied: ${count(step.tablesDone)} of ${count(step.tables)} tables`
      : step.step === 'following'
        ? 'The copy follows. The app is suspended for some seconds, compared while it works, and suspended once more.'
        : `Suspended for ${(step.suspendedMs / 1000).toFixed(1)} s.`
  if (text !== shown) process.stderr.write(`${text}\n`)
  shown = text
}
