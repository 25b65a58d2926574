import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const token = `slc_7_${'t'.repeat(43)}`

/** Returns the log of a process that runs these statements. */
async function logOf(statements: string): Promise<string> {
  const module = JSON.stringify(new URL('./log.ts', import.meta.url).href)
  const code = `const { openLog } = await import(${module}); const log = openLog('test'); const token = '${token}'; ${statements}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], {
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, LOG_LEVEL: 'trace' },
  })
  return stdout
}

// design.md §4, Isolation.
test('secrets are redacted by their name, at any usual depth', async () => {
  const log = await logOf(`
    log.info({ api_token: 'hunter2', headers: { 'x-service-token': 'hunter2', authorization: 'hunter2' } })
    log.info({ req: { headers: { cookie: 'hunter2' } }, settings: { password: 'hunter2' } })`)
  expect(log).not.toContain('hunter2')
  expect(log.match(/\[redacted\]/g)).toHaveLength(5)
})

test('an API token is redacted anywhere in a line', async () => {
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

test('an API token is redacted in a line that is cut, wherever it is cut', async () => {
  const log = await logOf(`
    for (let before = 940; before <= 1000; before += 10) log.info({ text: 'x'.repeat(before) + token + 'y'.repeat(9000) })`)
  for (const line of log.trim().split('\n')) expect(JSON.parse(line).text).not.toContain('slc_')
})

test('the log has only type, message, stack and code of an error', async () => {
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

test('a line is at most 8,192 characters and a line break, whatever is logged', async () => {
  const log = await logOf(`
    const long = 'é'.repeat(100_000)
    log.warn({ err: new Error(long), names: [long, { deep: long }] }, long)
    log.warn({ names: Array.from({ length: 10_000 }, () => 'x') }, 'many')
    log.info({ text: 'y'.repeat(8_000) }, 'not too long')`)
  const lines = log.trim().split('\n')
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(8_192)
  const [first, second, third] = lines.map((line) => JSON.parse(line))
  expect(first.err.message).toBe(`${'é'.repeat(1_000)}… (99000 more)`)
  expect(first).toMatchObject({ level: 'warn', name: 'sluice-test', msg: first.err.message })
  expect(second).toMatchObject({ level: 'warn', msg: 'many', left_out: expect.any(Number) })
  expect(third.text).toHaveLength(8_000)
})

test('an error with text from a client is logged with its text for the log, also as the cause of another error', async () => {
  const log = await logOf(`
    const error = Object.assign(new Error('duplicate columns jane@example.com'), { forLog: 'duplicate columns [1 names]' })
    log.warn({ err: error })
    log.warn({ err: new Error('refused', { cause: error }) })`)
  expect(log).not.toContain('jane')
  const messages = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).err.message)
  expect(messages).toEqual(['duplicate columns [1 names]', 'refused: duplicate columns [1 names]'])
})
