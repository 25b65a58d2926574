import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openScratch } from '../environment/scratch.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { runSluice } from '../environment/sluice-command.ts'
import { openApp } from './client.ts'

test('the process prints what the command prints, and ends with its exit code', async () => {
  const stack = await openSharedStack()
  onTestFinished(() => stack.close())
  const { appId } = await openApp(stack)
  for (const args of [['keys', '--app', String(appId)], ['keys', '--app', '999999'], ['keys']]) {
    expect(await stack.pipeToSluice('', ...args)).toEqual(await stack.sluice(...args))
  }
})

test('an API that cannot be reached is reported after several tries, with exit code 1', async () => {
  await using scratch = await openScratch('sluice-files-')
  const file = join(scratch.path, 'any.csv')
  await writeFile(file, 'user_id\n')
  const result = await runSluice(['import', file, '--token', 'x', '--api', 'http://127.0.0.1:1', '--json'], {})
  expect(result).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('cannot be reached') })
})
