import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeSigningSecret, signedHeaders } from '../../../packages/notifications/webhooks/src/signature.ts'
import { hasProgram, runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openApp } from '../stack/client.ts'
import { python, pythonEnvironment } from './python-program.ts'

const hasPython = await hasProgram(python)
const client = join(pythonEnvironment.PYTHONPATH, 'sluice_client.py')

/** A webhook request as the service signs it during the change of a secret. */
function signedWebhook() {
  const secret = makeSigningSecret()
  const body = JSON.stringify({ type: 'import.completed', timestamp: new Date().toISOString(), data: { é: 'ü' } })
  const now = Math.floor(Date.now() / 1000)
  return { secret, body, headers: signedHeaders([makeSigningSecret(), secret], crypto.randomUUID(), now, body) }
}

test.skipIf(!hasPython)('the Python client compiles without a warning', async () => {
  await using scratch = await openScratch('sluice-python-')
  const args = ['-W', 'error', '-m', 'compileall', '-q', '-f', client]
  const { code, output } = await runProgram(python, args, { env: { PYTHONPYCACHEPREFIX: scratch.path } })
  expect(code, output).toBe(0)
})

test.skipIf(!hasPython)(
  'the Python client imports, exports, updates and verifies against a running stack',
  async () => {
    await using parts = new AsyncDisposableStack()
    const stack = await openSharedStack()
    parts.defer(() => stack.close())
    const { token } = await openApp(stack)
    const env = {
      ...pythonEnvironment,
      SLUICE_API: stack.api,
      SLUICE_TOKEN: token,
      SIGNED_WEBHOOK: JSON.stringify(signedWebhook()),
    }
    const tests = join(import.meta.dirname, 'python_client_test.py')
    const { code, output } = await runProgram(python, ['-W', 'error', tests], { env })
    expect(code, output).toBe(0)
    expect(output).toMatch(/Ran \d\d tests.*\nOK\n/s)
  },
)
