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
