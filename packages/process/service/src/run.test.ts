import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const talkative = fileURLToPath(new URL('./testing/talkative-service.ts', import.meta.url))

async function startTalkative() {
  const child = spawn(process.execPath, [talkative], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    if (String(chunk).includes('"ready"')) break
  }
  return child
}

test('a service stops on SIGTERM, and its log is complete', async () => {
  const child = await startTalkative()
  let log = ''
  child.stdout.on('data', (chunk) => {
    log += chunk
  })
  child.kill('SIGTERM')
  expect(await once(child, 'close')).toEqual([0, null])
  expect(log).toMatch(/last words.*\n.*stopped/)
})

test('a service whose log nobody reads any more continues, and stops on SIGTERM', async () => {
  const child = await startTalkative()
  child.stdout.destroy()
  await once(child.stdout, 'close')
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})
