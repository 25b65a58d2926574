import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openScratch } from '../environment/scratch.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { until } from '../environment/wait.ts'
import { openApp, statusOf } from './client.ts'
import { openTerminal } from './terminal.ts'

test.runIf(process.platform === 'linux')(
  'Ctrl-C during import --wait ends the waiting, says how to cancel, and leaves the import alone',
  async () => {
    const stack = await openSharedStack()
    onTestFinished(() => stack.close())
    await using scratch = await openScratch('sluice-terminal-')
    const file = join(scratch.path, 'people.csv')
    const { appId, token } = await openApp(stack, ['a'])
    await stack.sluice('app', 'pause', '--app', String(appId))
    await writeFile(file, 'user_id,age\na,7\n')

    const args = ['import', file, '--token', token, '--api', stack.api, '--wait']
    const terminal = openTerminal('cli', args, { SLUICE_HOME: stack.home })
    await until('the state of the import', async () => terminal.shown().includes('imports of the app are paused'))
    const [, importId = ''] = /Import (\S+)/.exec(terminal.shown()) ?? []
    terminal.type('\x03')
    expect(await terminal.code).toBe(130)
    expect(terminal.shown()).toContain(`To cancel it: sluice import cancel ${importId}`)

    await stack.sluice('app', 'resume', '--app', String(appId))
    await until('the import', async () => (await statusOf(stack.api, token, importId)).state === 'completed')
  },
)
