import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { ImportView } from '@sluice/client'
import { registerUsers } from '@sluice/profiles'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasProgram, nodeEnvironment } from '../environment/program.ts'
import { until } from '../environment/wait.ts'
import { openClientApp } from '../faults/harness/client.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { slowBatches, untilRows } from '../faults/harness/import-states.ts'
import type { StorageFault } from '../faults/harness/storage-proxy.ts'
import { watchMemory } from '../memory/peak-memory.ts'
import { drivers } from './conformance/drivers.ts'
import { python } from './python-program.ts'

// An import while the API and storage are restarted, by the clients of this repository.
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
const mebibyte = 2 ** 20

interface Run {
  file: string
  token: string
  isDryRun: boolean
}

interface Client {
  name: string
  isPresent: boolean
  /** Maximum memory of its process, whatever the size of the file, MiB. */
  peakLimit: number
  /** Returns the program of an import, which prints JSON with the view. */
  start(run: Run): { args: readonly string[]; env: Record<string, string>; input?: string }
}

const clients: readonly Client[] = [
  {
    name: 'sluice import',
    isPresent: true,
    peakLimit: 300,
    start({ file, token, isDryRun }) {
      const options = [
        '--token',
        token,
        '--api',
        deployment.api,
        '--wait',
        '--json',
        ...(isDryRun ? ['--dry-run'] : []),
      ]
      return { args: [process.execPath, commandLine, 'import', file, ...options], env: nodeEnvironment }
    },
  },
  {
    name: 'import_file of the Python client',
    isPresent: await hasProgram(python),
    peakLimit: 80,
    start({ file, token, isDryRun }) {
      const limits = { patience: 30, outage_patience: 600 }
      const call = { call: 'import_file', file, options: { dry_run: isDryRun } }
      const input = JSON.stringify({ api: deployment.api, token, ...limits, ...call })
      return { args: drivers.Python.command, env: drivers.Python.env, input }
    },
  },
]

/** Runs a client to its end. Returns the view that it printed, and the peak of its memory, MiB. */
async function runClient(client: Client, run: Run): Promise<{ view: ImportView; peak: number }> {
  const { args, env, input = '' } = client.start(run)
  const [program = '', ...others] = args
  const child = spawn(program, others, { stdio: 'pipe', env })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin.end(input)
  const memory = watchMemory(async () => [child.pid ?? 0])
  const [[code], output, errors] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  expect(code, output + errors).toBe(0)
  const printed = JSON.parse(output)
  return { view: printed.result ?? printed, peak: (await memory.end()) / mebibyte }
}

/** Starts a client, and returns its end. If the test fails before, the end is ignored. */
function startClient(client: Client, run: Run): ReturnType<typeof runClient> {
  const running = runClient(client, run)
  running.catch(() => {})
  return running
}

/** Ends the API as a crash does, does `meanwhile`, and waits until another process has replaced the API. */
async function restartApi(meanwhile = () => {}): Promise<void> {
  const [running] = deployment.apis()
  running?.kill('SIGKILL')
  await running?.exited
  meanwhile()
  await until('another process of the API', () => deployment.apis().some((each) => each !== running), 120_000)
}

/** Breaks all connections to storage, and refuses new ones until the API has ended, too. */
async function restartApiAndStorage(): Promise<void> {
  deployment.storageNetwork.set({ kind: 'refuse' })
  await restartApi(() => deployment.storageNetwork.set({ kind: 'fine' }))
}

/** Counts uploads, and lets them fail as `faultOf` says for the number of an upload. */
function countUploads(faultOf: (upload: number) => StorageFault | undefined): () => number {
  let uploads = 0
  deployment.storageFaults.set(({ method }) => (method === 'PUT' ? faultOf(++uploads) : undefined))
  return () => uploads
}

const importsOf = async (appId: number) =>
  await deployment.db.selectFrom('imports').select('import_id').where('app_id', '=', appId).execute()

describe.each(clients)('$name', (client) => {
  test.skipIf(!client.isPresent)(
    'survives restarts of the API and of storage, and imports once',
    async () => {
      const { appId, token } = await openClientApp(deployment)
      const users = Array.from({ length: 20_000 }, (_, index) => `restart-${index}`)
      await registerUsers(deployment.db, appId, users)
      const file = join(folder, 'big.csv')
      await writeFile(file, `user_id,text\n${users.map((user) => `${user},${'x'.repeat(100)}\n`).join('')}`)
      const uploads = countUploads((upload) =>
        upload === 1 ? { kind: 'cut request', afterBytes: 500_000 } : undefined,
      )
      await slowBatches(deployment.db, 100)
      const running = startClient(client, { file, token, isDryRun: false })

      await until('the first upload', () => uploads() > 0, 120_000)
      await restartApiAndStorage()
      const [{ import_id: importId } = { import_id: '' }] = await until('the import', async () => {
        const imports = await importsOf(appId)
        return imports.length > 0 && imports
      })
      await untilRows(deployment, importId, 1)
      await restartApi()
      await slowBatches(deployment.db, 0)

      const { view } = await running
      expect(view).toMatchObject({ import_id: importId, state: 'completed', rows_total: 20_000, rows_changed: 20_000 })
      expect(uploads()).toBeGreaterThan(1)
      expect(await importsOf(appId)).toHaveLength(1)
    },
    400_000,
  )

  test.skipIf(!client.isPresent)(
    'uploads 1 GB through three restarts in bounded memory',
    async () => {
      const { appId, token } = await openClientApp(deployment)
      await registerUsers(deployment.db, appId, ['alice'])
      const file = join(folder, 'gigabyte.csv')
      const rows = await writeGigabyte(file)
      let restarts = 0
      // No upload ends before the last restart. Each restart meets the second upload after the preceding one.
      const uploads = countUploads((upload) =>
        restarts < 3 ? { kind: 'cut request', afterBytes: (upload % 2 === 1 ? 50 : 150) * mebibyte } : undefined,
      )
      const running = startClient(client, { file, token, isDryRun: true })
      for (; restarts < 3; restarts++) {
        const seen = uploads()
        await until('the second upload', () => uploads() >= seen + 2, 300_000)
        await restartApiAndStorage()
      }
      const { view, peak } = await running
      expect(view).toMatchObject({ state: 'completed', dry_run: true, rows_total: rows, rows_failed: 0 })
      expect(await importsOf(appId)).toHaveLength(1)
      expect(uploads()).toBeGreaterThan(6)
      console.log(`${client.name}: ${uploads()} uploads, peak ${Math.round(peak)} MiB`)
      expect(peak).toBeLessThan(client.peakLimit)
    },
    800_000,
  )
})

/** Writes a file of almost 1 GiB with few and wide rows, which a worker checks quickly. Returns the number of rows. */
async function writeGigabyte(path: string): Promise<number> {
  const columns = Array.from({ length: 490 }, (_, index) => `c${index}`)
  const row = Buffer.from(`alice,${columns.map(() => 'x'.repeat(250)).join()}\n`)
  const rows = Math.floor((2 ** 30 - 10_000) / row.length)
  await using file = await open(path, 'w')
  await file.write(`user_id,${columns.join()}\n`)
  for (let written = 0; written < rows; written++) await file.write(row)
  return rows
}
