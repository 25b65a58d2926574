import { assignCell } from '@sluice/accounts'
import { type Connection, connect } from '@sluice/database'
import { confirmMove } from '@sluice/moves'
import { countsOf } from '../../../cells/two-databases.ts'
import { storedProfiles } from '../../../environment/database.ts'
import { upload } from '../../../faults/harness/client.ts'
import type { Prepared, Scenario } from '../scenario.ts'
import type { SweepSystem } from '../system.ts'
import { fileNumber, importApps } from './imports.ts'

/** The databases of the cells to which the apps move, by system. */
const cells = new WeakMap<SweepSystem, { url: string; db: Connection['db'] }>()

/** An app with an import moves to another cell. */
export const move: Scenario = {
  name: 'move',
  apps: importApps,
  async prepare({ system }) {
    const url = await system.openCell()
    const { db } = system.withDatabase(connect(url, { connections: 1, process: 'move', onError: () => {} }))
    await assignCell(db, 1)
    cells.set(system, { url, db })
  },
  setup: [({ system, app }) => upload(system, app, fileNumber(3)), ({ maintain }) => maintain('notice-uploads')],
  steps: [
    async (stage) => {
      do await stage.maintain('move')
      while (!(await hasMoved(stage)))
    },
  ],
  verify,
}

async function hasMoved({ system }: Prepared): Promise<boolean> {
  const states = [system.db, cellOf(system).db].map((db) => db.selectFrom('app_moves').select('state').execute())
  return JSON.stringify(await Promise.all(states)) === '[[{"state":"left"}],[{"state":"here"}]]'
}

function cellOf(system: SweepSystem) {
  const cell = cells.get(system)
  if (cell === undefined) throw new Error('the scenario is not prepared')
  return cell
}

/** Compares the app's rows in both cells, and removes those of the source, so that the databases can be used again. */
async function verify({ system, app: { appId } }: Prepared): Promise<string[]> {
  const target = cellOf(system)
  const source = system.withDatabase(
    connect(system.databaseUrl, { connections: 1, process: 'move', onError: () => {} }),
  )
  const rowsOf = async (cell: Pick<Connection, 'db'>) =>
    JSON.stringify([await countsOf(cell, appId), await storedProfiles(cell, appId)])
  const [here, there] = [await rowsOf(source), await rowsOf(target)]
  await confirmMove({
    appId,
    source: { cell: 0, url: system.databaseUrl, db: source.db },
    target: { cell: 1, ...target },
  })
  const left = JSON.stringify(await countsOf(source, appId))
  return [
    ...(here === there ? [] : [`the source has ${here}, the target ${there}`]),
    ...(left === '{}' ? [] : [`the source keeps ${left}`]),
  ]
}
