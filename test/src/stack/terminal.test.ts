import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ImportView } from '@sluice/contract'
import { expect, onTestFinished, test } from 'vitest'
import { startFaultServer } from '../client/conformance/fault-server.ts'
import { openScratch } from '../environment/scratch.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { until } from '../environment/wait.ts'
import { declare, openApp, requestImport, statusOf, upload } from './client.ts'
import { openTerminal } from './terminal.ts'

const onLinux = test.runIf(process.platform === 'linux')

/** Opens the stack, an app with the user `a`, and a file on the disk. All of it ends with the test. */
async function openPeopleFile(text: string) {
  const stack = await openSharedStack()
  onTestFinished(() => stack.close())
  const scratch = await openScratch('sluice-terminal-')
  onTestFinished(() => scratch[Symbol.asyncDispose]())
  const file = join(scratch.path, 'people.csv')
  await writeFile(file, text)
  return { stack, file, ...(await openApp(stack, ['a'])) }
}

onLinux('Ctrl-C during import --wait ends the waiting, says how to cancel, and leaves the import alone', async () => {
  const { stack, appId, token, file } = await openPeopleFile('user_id,age\na,7\n')
  await stack.sluice('app', 'pause', '--app', String(appId))

  const args = ['import', file, '--token', token, '--api', stack.api, '--wait']
  const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home })
  await until('the state of the import', async () => terminal.shown().includes('the app are paused by an operator'))
  const [, importId = ''] = /Import (\S+)/.exec(terminal.shown()) ?? []
  terminal.type('\x03')
  expect(await terminal.code).toBe(130)
  expect(terminal.shown()).toContain(`To cancel it: sluice import cancel ${importId}`)

  await stack.sluice('app', 'resume', '--app', String(appId))
  await until('the import', async () => (await statusOf(stack.api, token, importId)).state === 'completed')
})

onLinux('Ctrl-C during an upload cancels the import, which later ones would wait for', async () => {
  const { stack, token, file } = await openPeopleFile('user_id,age\na,7\n')
  const notNow = { status: 503, headers: { 'Retry-After': '120' } }
  await using server = await startFaultServer(stack.api, { upload: [notNow] })

  const args = ['import', file, '--token', token, '--api', server.url]
  const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home })
  await until('the upload', async () => terminal.shown().includes('Uploading'))
  terminal.type('\x03')
  expect(await terminal.code).toBe(130)
  expect(terminal.shown()).toContain('The upload was interrupted. An import without its file is cancelled.')
  const [importId = ''] = server.imports
  expect((await statusOf(stack.api, token, importId)).state).toBe('cancelled')
})

onLinux('import --wait shows what it waits for, then a bar of rows, and at the end the errors by message', async () => {
  const { stack, token, file } = await openPeopleFile('user_id,age\na,7\nb,8\nc,9\n')
  // Until both have their files or are cancelled, no later import of the app starts.
  const request = () => requestImport(stack.api, token, declare(Buffer.from('user_id\n')))
  const preceding = [await request(), await request()]

  const args = ['import', file, '--token', token, '--api', stack.api, '--wait']
  const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home })
  for (const [index, reason] of ['2 imports, the first of which has no file yet', '1 import, which has'].entries()) {
    await until('the place in the queue', async () => terminal.shown().includes(`queued behind ${reason}`))
    expect((await stack.sluice('imports', 'cancel', preceding[index]?.importId ?? '')).code).toBe(0)
  }
  expect(await terminal.code).toBe(0)
  expect(terminal.shown()).toMatch(/completed █+ 100 % {2}3 rows {2}\d+ rows\/s {2}2 with errors\r\n/)
  const errors = /Errors:\r\nROWS {2}ERROR\r\n {3}2 {2}user_id is unregistered user\r\n/
  expect(terminal.shown()).toMatch(errors)
  const [, importId = ''] = /Import (\S+)/.exec(terminal.shown()) ?? []
  for (const access of [[], ['--token', token, '--api', stack.api]]) {
    const show = openTerminal('cli', ['imports', 'show', importId, ...access], { SLUICE_HOME: stack.home })
    expect(await show.code).toBe(0)
    expect(show.shown()).toMatch(errors)
  }
})

onLinux('import --wait says that the import before it is held for approval', async () => {
  const { stack, token, file } = await openPeopleFile('user_id,age\na,7\n')
  const args = ['import', file, '--token', token, '--api', stack.api, '--wait']
  const held = await stack.sluice(...args, '--hold-if', 'always')
  const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home })
  await until('the reason', async () => terminal.shown().includes('behind 1 import, which is held for approval'))
  const [, heldId = ''] = /Import (\S+)/.exec(held.stderr) ?? []
  expect((await stack.sluice('imports', 'approve', heldId)).code).toBe(0)
  expect(await terminal.code).toBe(0)
})

// changes.md §2, The decision.
onLinux('import --wait of a held import ends its line, shows why, and names the command as its last line', async () => {
  const { stack, token, file } = await openPeopleFile('user_id,age\na,7\nb,8\n')
  const args = ['import', file, '--token', token, '--api', stack.api, '--wait', '--hold-if', 'failed_percent=20']
  const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home })
  expect(await terminal.code).toBe(1)
  const [, importId = ''] = /Import (\S+)/.exec(terminal.shown()) ?? []
  expect(terminal.shown()).toMatch(/held +█+ 100 % {2}2 rows {2}\d+ rows\/s {2}1 with errors\r\n/)
  expect(terminal.shown()).toMatch(/State +held\r\nHeld because +failed_percent is 50, over 20\r\n/)
  expect(terminal.shown().trimEnd()).toMatch(new RegExp(`To apply it: sluice import approve ${importId}$`))
})

// changes.md §6.
onLinux('imports cancel --all and retry --all ask: no leaves every import alone, and yes does it', async () => {
  const stack = await openSharedStack()
  onTestFinished(() => stack.close())
  const { appId, token } = await openApp(stack)
  await stack.sluice('app', 'pause', '--app', String(appId))
  await upload(stack.api, token, Buffer.from('user_id,age\na,7\n'))
  const states = async () =>
    ((await stack.sluice('imports', '--app', String(appId))).json as ImportView[]).map(({ state }) => state)
  await until('the import to wait', async () => (await states()).includes('queued'))

  const answer = async (reply: string, question: string, ...args: string[]) => {
    const command = ['imports', ...args, '--all', '--app', String(appId)]
    const terminal = openTerminal('cli', command, { SLUICE_HOME: stack.home })
    await until('the question', () => terminal.shown().includes(`${question} [y/N] `))
    terminal.type(`${reply}\r`)
    return { code: await terminal.code, shown: terminal.shown() }
  }
  const refused = { code: 1, shown: expect.stringContaining('sluice: nothing was done') }
  const cancel = (reply: string) => answer(reply, 'Cancel 1 import of 1 app?', 'cancel')
  for (const reply of ['n', '', 'yess']) expect(await cancel(reply)).toEqual(refused)
  expect(await states()).toEqual(['queued'])
  expect(await cancel('y')).toMatchObject({ code: 0 })
  expect(await states()).toEqual(['cancelled'])

  const retry = (reply: string) => answer(reply, 'Retry 1 import of 1 app?', 'retry', '--state', 'cancelled')
  expect(await retry('no')).toEqual(refused)
  expect(await states()).toEqual(['cancelled'])
  expect(await retry('YES')).toMatchObject({ code: 0 })
  expect(await states()).toEqual(['queued', 'cancelled'])
})

onLinux('a list fits the terminal, names what it leaves out, and shows it with --wide', async () => {
  const stack = await openSharedStack()
  onTestFinished(() => stack.close())
  const { appId, token } = await openApp(stack)
  const importId = await upload(stack.api, token, Buffer.from('user_id,age\na,7\n'))
  const list = async (columns: number, ...options: string[]) => {
    const args = ['imports', 'list', '--app', String(appId), ...options]
    const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home }, columns)
    expect(await terminal.code).toBe(0)
    return terminal.shown().trimEnd().split('\r\n')
  }
  const narrow = await list(80)
  expect(narrow[0]).toMatch(/^IMPORT +STATE +FILE/)
  expect(narrow.at(-1)).toMatch(/^--wide also shows .*FINISHED, ERROR$/)
  expect(narrow.filter((line) => line.length > 80)).toEqual([])
  expect((await list(80, '--wide'))[0]).toMatch(/^IMPORT .* FINISHED +ERROR$/)
  expect((await list(0))[0]).toBe(narrow[0])
  expect((await list(40))[0]).toMatch(new RegExp(`^IMPORT +${importId}$`))
})

onLinux('an error is a line of its own, whatever a progress line has left', async () => {
  const stack = await openSharedStack()
  onTestFinished(() => stack.close())
  const terminal = openTerminal('cli', ['keys', '--app', '999999'], { SLUICE_HOME: stack.home })
  expect(await terminal.code).toBe(1)
  expect(terminal.shown()).toContain('\r\x1b[Ksluice: there is no app 999999\r\n')
})
