import { Redis } from 'ioredis'
import { expect, inject, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { download, ended, openApp, upload } from './client.ts'
import { startStack } from './running-stack.ts'

const redisUrl = inject('redisUrl')

test.skipIf(redisUrl === undefined)(
  'with REDIS_URL an import works from end to end, and its jobs are in Redis',
  async () => {
    const url = `${redisUrl}/8`
    const redis = new Redis(url)
    onTestFinished(() => redis.disconnect())
    await redis.flushdb()
    const stack = await startStack({ redisUrl: url })
    onTestFinished(() => stack.stop())

    const { appId, token, email } = await openApp(stack, ['u1'])
    const view = await ended(
      stack.api,
      token,
      await upload(stack.api, token, Buffer.from('user_id,age\nu1,31\nu2,1\n')),
    )
    expect(view).toMatchObject({ state: 'completed', rows_total: 2, rows_applied: 1, rows_failed: 1 })
    expect((await download(view.error_file_url ?? '')).toString()).toBe(
      'SERVICE_ERRORS,user_id,age\nuser_id is unregistered user,u2,1\n',
    )
    const shown = await stack.sluice('user', 'show', '--app', String(appId), 'u1')
    expect(shown.json).toMatchObject({ profiles: { age: { type: 'int', value: 31 } } })
    await until('the mail', async () => (await stack.mailsTo(email)).length === 1)
    expect(await redis.keys('{sluice}:imports:*')).not.toEqual([])
  },
)
