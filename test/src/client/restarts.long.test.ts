import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImportView } from '@sluice/client'
import { registerUsers } from '@sluice/profiles'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeEnvironment, runProgram } from '../environment/program.ts'
import { until } from '../environment/wait.ts'
import { openClientApp } from '../faults/harness/client.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { slowBatches, untilRows } from '../faults/harness/import-states.ts'

// `sluice import big.csv` while the API and storage are restarted.
let deployment: Deployment
let folder: string

beforeAll(async () => {
  deployment = await startDeployment({ workers: 1 })
  folder = await mkdtemp(join(tmpdir(), 'sluice-restarts-'))
})

afterAll(async () => {
  await deployment.close()
  await rm(folder, { recursive: true, force: true })
})

const commandLine = fileURLToPath(new URL('../../../apps/cli/src/main.ts', import.meta.url))

/** Ends the API as a crash does, and waits until another process has replaced it. */
async function restartApi(): Promise<void> {
  const [running] = deployment.apis()
  running?.kill('SIGKILL')
  await running?.exited
  await until('another process of the API', () => deployment.apis().length > 0)
}

test('sluice import survives restarts of the API and of storage, and imports once', async () => {
  const { appId, token } = await openClientApp(deployment)
  const users = Array.from({ length: 20_000 }, (_, index) => `restart-${index}`)
  await registerUsers(deployment.db, appId, users)
  const file = join(folder, 'big.csv')
  await writeFile(file, `user_id,text\n${users.map((user) => `${user},${'x'.repeat(100)}\n`).join('')}`)

  let uploads = 0
  let storageFails = () => {}
  const failing = new Promise<void>((resolve) => {
    storageFails = resolve
  })
  deployment.storageFaults.set(({ method }) => {
    if (method !== 'PUT') return undefined
    uploads++
    if (uploads > 1) return undefined
    storageFails()
    return { kind: 'cut request', afterBytes: 500_000 }
  })
  await slowBatches(deployment.db, 100)
  const args = [commandLine, 'import', file, '--token', token, '--api', deployment.api, '--wait', '--json']
  const command = runProgram(process.execPath, args, { env: nodeEnvironment })

  await failing
  deployment.storageNetwork.set({ kind: 'refuse' })
  await restartApi()
  deployment.storageNetwork.set({ kind: 'fine' })
  const { import_id: importId } = await until('the import', () =>
    deployment.db.selectFrom('imports').select('import_id').where('app_id', '=', appId).executeTakeFirst(),
  )
  await untilRows(deployment, importId, 1)
  await restartApi()
  await slowBatches(deployment.db, 0)

  const { code, output } = await command
  expect(code, output).toBe(0)
  const view = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1)) as ImportView
  expect(view).toMatchObject({ import_id: importId, state: 'completed', rows_total: 20_000, rows_changed: 20_000 })
  expect(uploads).toBeGreaterThan(1)
  expect(await deployment.db.selectFrom('imports').select('import_id').execute()).toHaveLength(1)
}, 180_000)
