import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the file that npx sluice runs lists the commands, wherever it is called', async () => {
  const bin = fileURLToPath(new URL('../bin/sluice.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [bin, '--help'], { cwd: tmpdir() })
  expect(stdout).toContain('Usage: sluice')
  expect(stdout).toContain('migrate')
})

// design.md §2, npm run -s sluice.
test('npm run -s sluice prints what the command prints, and nothing else', async () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)('npm', ['run', '-s', 'sluice', '--', '--help'], { cwd: root })
  expect(stdout).toMatch(/^Usage: sluice/)
  expect(stderr).toBe('')
})
