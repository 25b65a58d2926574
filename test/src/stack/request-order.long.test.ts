import { afterAll, beforeAll, expect, test } from 'vitest'
import { declare, ended, openApp, put, requestImport, statusOf, upload } from './client.ts'
import { type RunningStack, startStack } from './running-stack.ts'

let stack: RunningStack

beforeAll(async () => {
  stack = await startStack({ env: { UPLOAD_ORDER_WAIT: '3s' } })
})

afterAll(() => stack.stop())

const file = (plan: string) => Buffer.from(`user_id,plan\nu1,${plan}\n`)

test('a file waits UPLOAD_ORDER_WAIT for an earlier import that is still uploading, then it is imported', async () => {
  const { token } = await openApp(stack, ['u1'])
  const earlier = await requestImport(stack.api, token, declare(file('earlier')))
  const importId = await upload(stack.api, token, file('later'))
  const uploaded = Date.now()
  const { state, started_at: startedAt } = await ended(stack.api, token, importId)
  expect(state).toBe('completed')
  expect(Date.parse(startedAt ?? '') - uploaded).toBeGreaterThanOrEqual(3000)
  expect((await statusOf(stack.api, token, earlier.importId)).state).toBe('awaiting_upload')

  // The overtaken import is not lost: it runs when its file has been uploaded.
  expect((await put(earlier.url, earlier.headers, file('earlier'))).status).toBe(200)
  expect(await ended(stack.api, token, earlier.importId)).toMatchObject({ state: 'completed', rows_applied: 1 })
})

test('a waiting file of one app does not delay files of another app', async () => {
  const waiting = await openApp(stack, ['u1'])
  await requestImport(stack.api, waiting.token, declare(file('earlier')))
  const later = await upload(stack.api, waiting.token, file('later'))
  const free = await openApp(stack, ['u1'])
  await ended(stack.api, free.token, await upload(stack.api, free.token, file('any')))
  expect((await statusOf(stack.api, waiting.token, later)).started_at).toBeNull()
})
