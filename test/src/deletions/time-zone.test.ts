import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { nodeEnvironment } from '../environment/program.ts'

// Deletion dates are irrevocable: no process that computes them starts with a time zone that it does not know.
const settings = {
  API_URL: 'http://api.test',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  MAIL_FROM: 'no-reply@example.com',
  S3_ACCESS_KEY_ID: 'none',
  S3_BUCKET: 'none',
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_SECRET_ACCESS_KEY: 'none',
  SMTP_URL: 'smtp://127.0.0.1:1',
}

test.each([
  ['api', [], 'Mars/Olympus_Mons'],
  ['worker', [], '+09:00'],
  ['cli', ['deletions', 'run'], 'Berlin'],
])('%s %j refuses the unknown time zone %s at its start, and names the setting', async (app, args, timeZone) => {
  const entry = fileURLToPath(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url))
  const env = { ...nodeEnvironment, ...settings, SERVICE_TIMEZONE: timeZone }
  const child = spawn(process.execPath, [entry, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 50_000 })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^(sluice: )?Settings:\n {2}SERVICE_TIMEZONE must be an IANA time zone such as [^\n]*\n$/)
})
