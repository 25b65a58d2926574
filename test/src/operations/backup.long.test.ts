import { readFile, stat } from 'node:fs/promises'
import { connect as connectTo, createServer } from 'node:net'
import { join } from 'node:path'
import { createApp } from '@sluice/accounts'
import { checkSchema, connect, type Database, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { listenOn } from '../environment/free-port.ts'
import { hasProgram, nodeEnvironment, runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { openClientApp } from '../faults/harness/client.ts'
import { startDeployment } from '../faults/harness/deployment.ts'
import { useEverything } from '../sharding/use-everything.ts'
import { root, shellBlocks } from '../stack/documented-session.ts'

// Runs the commands of docs/operations.md, Backups and recovery.
const programs = await Promise.all(['bash', 'pg_dump', 'pg_restore'].map(hasProgram))
const blocks = shellBlocks(await readFile(join(root, 'docs/operations.md'), 'utf8'))
const blockWith = (text: string) => blocks.find((block) => block.includes(text)) ?? 'exit 1'

test.skipIf(programs.includes(false))(
  'the documented commands back up everything but the queues, and restore it into an empty database',
  { timeout: 180_000 },
  async () => {
    const deployment = await startDeployment({ workers: 1 })
    onTestFinished(() => deployment.close())
    await useEverything(deployment, await openClientApp(deployment))
    await deployment.stopApps()
    const { path: cwd } = await openFolder()
    const run = (block: string, databaseUrl: string, more: Record<string, string>) => {
      const script = block.replaceAll('npx sluice', `'${process.execPath}' '${root}apps/cli/src/main.ts'`)
      const env = { ...nodeEnvironment, DATABASE_URL: databaseUrl, ...more }
      return runProgram('bash', ['--norc', '-euc', script], { cwd, env })
    }

    const address = await openOlder(deployment.databaseUrl)
    const backUp = async (keys: Record<string, string>, kept: string) => {
      const { code, output } = await run(blockWith('pg_dump '), address, keys)
      expect(code, output).toBe(0)
      expect((await readFile(join(cwd, 'sluice.keys'), 'utf8')).trim()).toBe(kept)
    }
    await backUp({ ENCRYPTION_KEYS: 'the keys' }, 'the keys')
    await backUp(
      { ENCRYPTION_KEYS_FILE: `${root}package.json` },
      (await readFile(`${root}package.json`, 'utf8')).trim(),
    )
    for (const name of ['sluice.dump', 'sluice.keys']) expect((await stat(join(cwd, name))).mode & 0o077, name).toBe(0)

    await sql`create database restored`.execute(deployment.db)
    const after = new URL(address)
    after.pathname = '/restored'
    const { code, output } = await run(blockWith('pg_restore --no-owner'), after.href, {})
    expect(code, output).toBe(0)
    const restored = connect(after.href)
    onTestFinished(() => restored.close())
    const expected = await contentsOf(deployment.db)
    expect(Object.keys(expected).length).toBeGreaterThan(20)
    expect(await contentsOf(restored.db)).toEqual(expected)
    await checkSchema(restored.db)
    const { rows: jobs } = await sql`select from bullmq.job`.execute(restored.db)
    expect(jobs).toEqual([])
    // Sequences continue: an ID is not given out again.
    const { appId } = await createApp(deployment.db, { name: 'Next', email: 'next@example.com' })
    expect((await createApp(restored.db, { name: 'Next', email: 'next@example.com' })).appId).toBe(appId)
  },
)

async function openFolder() {
  const scratch = await openScratch('sluice-backup-')
  onTestFinished(() => scratch[Symbol.asyncDispose]())
  return scratch
}

/** Returns a hash of the rows of each table, without the tables of the queues. */
async function contentsOf(db: Database): Promise<Record<string, string | null>> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema', 'bullmq')
  `.execute(db)
  const contents: Record<string, string | null> = {}
  for (const { name } of tables) {
    const { rows } = await sql<{ hash: string | null }>`
      select md5(string_agg(t::text, ' ' order by t::text)) as hash from ${sql.raw(name)} t
    `.execute(db)
    contents[name] = rows[0]?.hash ?? null
  }
  return contents
}

/**
 * Opens an address of Postgres that names the older version 14, and returns it. `pg_dump` refuses a server that is
 * newer than itself, and the one at hand may be older. The commands and the server are the real ones.
 */
async function openOlder(databaseUrl: string): Promise<string> {
  const url = new URL(databaseUrl)
  const { port, hostname } = url
  const server = createServer((client) => {
    const postgres = connectTo(Number(port), hostname)
    client.on('error', () => postgres.destroy()).pipe(postgres)
    postgres.on('error', () => client.destroy()).on('end', () => client.end())
    let named = false
    postgres.on('data', (chunk: Buffer) => {
      const renamed = chunk.toString('latin1').replace(/(server_version\0)\d\d/, '$114')
      client.write(named ? chunk : Buffer.from(renamed, 'latin1'))
      named ||= renamed.includes('server_version\0')
    })
  })
  onTestFinished(() => void server.close())
  url.port = String(await listenOn(server))
  url.hostname = '127.0.0.1'
  return url.href
}
