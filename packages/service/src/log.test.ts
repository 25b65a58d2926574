import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const token = `slc_7_${'t'.repeat(43)}`

/** What a process writes to its log. */
async function logOf(statements: string): Promise<string> {
  const module = JSON.stringify(new URL('./log.ts', import.meta.url).href)
  const code = `const { openLog } = await import(${module}); const log = openLog('test'); const token = '${token}'; ${statements}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    env: { LOG_LEVEL: 'trace' },
  })
  return stdout
}

test('secrets are left out by their name, at any usual depth', async () => {
  const log = await logOf(`
    log.info({ api_token: 'hunter2', headers: { 'x-service-token': 'hunter2', authorization: 'hunter2' } })
    log.info({ req: { headers: { cookie: 'hunter2' } }, settings: { password: 'hunter2' } })`)
  expect(log).not.toContain('hunter2')
  expect(log.match(/\[redacted\]/g)).toHaveLength(5)
})

test('an API token is left out wherever it stands', async () => {
  const log = await logOf(`
    log.info({ url: '/x?token=' + token, list: [token], deep: { a: { b: { c: { d: token } } } } }, 'with ' + token)
    log.error({ err: new Error(token) })
    log.child({ token }).info('x')`)
  expect(log).not.toContain(token)
  expect(
    log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).level),
  ).toEqual(['info', 'error', 'info'])
})

test('of an error only type, message, stack and code are kept', async () => {
  const log = await logOf(`
    const error = Object.assign(new TypeError('no', { cause: new Error('why') }), { code: 'E', rawPacket: 'x', detail: 'row' })
    log.warn({ err: error })
    log.warn({ err: 'text' })`)
  const [first, second] = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).err)
  expect(Object.keys(first)).toEqual(['type', 'message', 'stack', 'code'])
  expect(first).toMatchObject({ type: 'TypeError', message: 'no: why', code: 'E' })
  expect(second).toEqual({ message: 'text' })
})
