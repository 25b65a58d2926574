import { gunzipSync } from 'node:zlib'
import {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  ImportFailedError,
  type ImportProgress,
  InvalidProfileError,
  MalformedProfileUpdateError,
  NotFoundError,
  Sluice,
  TooManyRequestsError,
  UnregisteredUserError,
} from '@sluice/client'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openApp } from '../stack/client.ts'

// The client package against the running API, storage and worker. conformance.test.ts has the failures of servers. Each
// test has an app of its own, and mostly waits for the worker, so all run at the same time.
const stack = openBeforeAll(openSharedStack)

async function openClient(users: readonly string[] = []) {
  const app = await openApp(stack, users)
  return { app, sluice: new Sluice({ api: stack.api, token: app.token }) }
}

const csv = (text: string, name = 'people.csv') => new File([text], name)

async function* lines(...texts: string[]) {
  yield* texts
}

test.concurrent('users and keys are registered, a file is imported with progress, and everything is read back', async () => {
  const { sluice } = await openClient()
  await sluice.registerUsers(['alice', 'bob'])
  await sluice.registerUsers(lines('bob', 'carol'))
  expect(await sluice.registerKeys({ zip: 'string' })).toMatchObject([{ key: 'zip', type: 'string' }])

  const progress: ImportProgress[] = []
  const view = await sluice.import(csv('user_id,zip,age\nalice,007,34\nbob,008,x\nnobody,1,1\n'), {
    profileTypes: { age: 'int' },
    onProgress: (now) => void progress.push(now),
  })
  expect(view).toMatchObject({ state: 'completed', file_name: 'people.csv', rows_applied: 1, rows_failed: 2 })
  expect(view.types).toEqual({ zip: 'string', age: 'int' })
  expect(new Set(progress.map(({ phase }) => phase))).toEqual(new Set(['checksum', 'upload', 'processing']))
  expect(await sluice.showImport(view.import_id)).toEqual(view)
  expect(await Array.fromAsync(sluice.imports({ state: 'completed', source: 'v3' }))).toEqual([view])
  expect(await Array.fromAsync(sluice.imports({ state: 'failed' }))).toEqual([])
  expect(await sluice.changeKey('zip', { enabled: false, description: 'x' })).toMatchObject({ enabled: false })
  expect(await sluice.changeKey('zip', { enabled: true })).toMatchObject({ enabled: true, description: 'x' })
  await expect(sluice.changeKey('nothing', { enabled: true })).rejects.toBeInstanceOf(NotFoundError)
  expect((await sluice.keys()).map(({ key, type }) => [key, type])).toEqual([
    ['age', 'int'],
    ['zip', 'string'],
  ])

  const updated = await sluice.updateProfile('carol', [{ key: 'age', type: 'int', value: 28 }])
  expect(updated).toEqual({ user_id: 'carol', user_profiles: [{ key: 'age', type: 'int', value: 28 }] })
  const { view: exported, stream } = await sluice.export({ keys: ['age', 'zip'] })
  const file = gunzipSync(Buffer.from(await new Response(stream).arrayBuffer()))
  expect(file.toString()).toBe('user_id,age,zip\nalice,34,007\nbob,,\ncarol,28,\n')
  expect(exported).toMatchObject({ state: 'completed', rows: 3 })

  await sluice.clearValue('alice', 'age')
  await sluice.deleteUsers(['alice'])
  expect(await sluice.user('alice')).toMatchObject({
    profiles: { zip: { type: 'string', value: '007' } },
    campaign_target: true,
    deletion: { state: 'accepted' },
  })
})

test.concurrent('a user ID and a key with reserved characters reach the API unchanged', async () => {
  const userId = 'a/b?c#d%20 é'
  const { sluice } = await openClient([userId])
  await sluice.updateProfile(userId, [{ key: 'k/1', type: 'string', value: 'x' }])
  expect((await sluice.user(userId)).profiles).toEqual({ 'k/1': { type: 'string', value: 'x' } })
  await sluice.clearValue(userId, 'k/1')
  expect((await sluice.user(userId)).profiles).toEqual({})
})

test.concurrent('each refusal of the API is an error of its own class, with the messages and the ID of the request', async () => {
  const { sluice } = await openClient(['alice'])
  const age = { key: 'age', type: 'int', value: 1 } as const
  await sluice.updateProfile('alice', [age])
  await expect(sluice.updateProfile('nobody', [age])).rejects.toBeInstanceOf(UnregisteredUserError)
  await expect(sluice.updateProfile('alice', [])).rejects.toBeInstanceOf(MalformedProfileUpdateError)
  const invalid = await sluice.updateProfile('alice', [{ ...age, value: 'x' }]).catch((error) => error)
  expect(invalid).toBeInstanceOf(InvalidProfileError)
  expect(invalid).toMatchObject({ status: 400, code: 1003, messages: ['age should be integer'] })
  expect(invalid.requestId).toMatch(/^[0-9a-f-]{36}$/)
  await expect(sluice.registerKeys({ age: 'string' })).rejects.toBeInstanceOf(ConflictError)
  await expect(sluice.user('nobody')).rejects.toBeInstanceOf(NotFoundError)
  await expect(sluice.registerUsers([''])).rejects.toBeInstanceOf(BadRequestError)
  const stranger = new Sluice({ api: stack.api, token: 'slc_1_wrong' })
  await expect(stranger.keys()).rejects.toBeInstanceOf(ForbiddenError)

  const failure = await sluice.import(csv('age\n1\n')).catch((error) => error)
  expect(failure).toBeInstanceOf(ImportFailedError)
  expect(failure).toMatchObject({
    name: 'ImportFailedError',
    view: { state: 'failed', error: 'user_id column is required' },
  })
  const ended = await sluice.import(csv('user_id,age\nalice,2\n'))
  await expect(sluice.cancelImport(ended.import_id)).rejects.toBeInstanceOf(ConflictError)
})

test.concurrent('a used-up rate limit is an error that says how long to wait, if the wait exceeds the patience', async () => {
  const { app } = await openClient()
  const sluice = new Sluice({ api: stack.api, token: app.token, patienceMs: 500 })
  // A refused export counts as a request, and nothing is written.
  const refused = () => sluice.export({ keys: ['unregistered'] }).catch((error) => error)
  for (let count = 0; count < 10; count++) expect(await refused()).toBeInstanceOf(BadRequestError)
  const error = await refused()
  expect(error).toBeInstanceOf(TooManyRequestsError)
  expect(error.retryAfterMs).toBeGreaterThan(500)
})

test.concurrent('a call that is aborted ends with the reason, and its import can be cancelled', async () => {
  const { sluice } = await openClient(['alice'])
  const controller = new AbortController()
  const reason = new Error('enough')
  let importId = ''
  const outcome = sluice.import(csv('user_id,n\nalice,1\n'), {
    signal: controller.signal,
    onProgress: (now) => {
      if (now.phase !== 'processing') return
      importId = now.view.import_id
      controller.abort(reason)
    },
  })
  await expect(outcome).rejects.toBe(reason)
  expect((await sluice.waitForImport(importId)).state).toBe('completed')
})
