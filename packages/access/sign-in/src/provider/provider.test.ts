import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('openid-client is not loaded as long as nobody signs in at a provider', async () => {
  const entry = new URL('../index.ts', import.meta.url).href
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context) } })
    await import(${JSON.stringify(entry)})
    console.log(loaded.join('\\n'))
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  expect(stdout).toContain('provider/provider.ts')
  expect(stdout).not.toContain('openid-client')
})
