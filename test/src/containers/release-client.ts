import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'

/** Time from the installation of the client to the end of an import, at most. */
const limitMs = 60_000
/** As many users as one request can register. */
const users = Array.from({ length: 10_000 }, (_, index) => `user-${index}`)

/**
 * Installs the client's archive in an empty folder without a network, and imports a file with its command. Throws if
 * that takes longer than a minute.
 */
export async function importWithClient(archive: string, api: string, token: string): Promise<void> {
  await registerUsers(api, token)
  await using scratch = await openScratch('sluice-empty-machine-')
  const folder = join(scratch.path, 'project')
  await mkdir(folder)
  await writeFile(join(folder, 'people.csv'), `user_id,age\n${users.map((id) => `${id},34\n`).join('')}`)
  const began = performance.now()
  const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: scratch.path }
  const install = ['install', archive, '--offline', '--no-audit', '--no-fund', '--no-update-notifier']
  const installed = await runProgram('npm', install, { cwd: folder, env })
  assert.equal(installed.code, 0, installed.output)

  // Only Node is on the path.
  const access = { PATH: dirname(process.execPath), SLUICE_API: api, SLUICE_TOKEN: token }
  const command = join(folder, 'node_modules/.bin/sluice-client')
  const run = (...args: string[]) => runProgram(command, args, { cwd: folder, env: access })
  const { code, output } = await run('import', 'people.csv', '--wait')
  assert.equal(code, 0, output)
  assert.match(output, /^State +completed$/m)
  assert.match(output, /^Rows applied +10,000$/m)
  const tookMs = performance.now() - began
  assert(tookMs < limitMs, `the client took ${tookMs} ms`)
  console.log(`the client was installed, and imported ${users.length} rows, in ${(tookMs / 1000).toFixed(1)} s`)
  assert.equal((await run('import', 'missing.csv')).code, 1)
  assert.equal((await run('import')).code, 2)
}

async function registerUsers(api: string, token: string): Promise<void> {
  const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ user_ids: users })
  const response = await fetch(`${api}/v1/users`, { method: 'POST', headers, body })
  assert(response.ok, await response.text())
}
