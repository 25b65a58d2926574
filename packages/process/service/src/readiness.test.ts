import { expect, test, vi } from 'vitest'
import { checkReadiness, logWhenReady, openReadiness } from './readiness.ts'

const log = () => ({ info: vi.fn(), warn: vi.fn() })
const failing = (message: string) => async () => {
  throw new Error(message)
}

test('a process without an optional store is ready, and its log says so once', async () => {
  const readiness = openReadiness()
  readiness.require({ name: 'postgres', setting: 'DATABASE_URL', check: async () => {} })
  readiness.require({ name: 'redis', setting: 'REDIS_URL', isOptional: true, check: failing('refused') })
  const { info, warn } = log()
  await logWhenReady(readiness, { info, warn }, { url: 'x' })
  expect(info.mock.calls).toEqual([[{ url: 'x' }, 'ready']])
  expect(warn.mock.calls).toEqual([[{ reasons: { redis: 'REDIS_URL: refused' } }, 'ready, but without redis']])
})

test('a process waits for no optional store', async () => {
  const readiness = openReadiness()
  readiness.require({ name: 'postgres', setting: 'DATABASE_URL', check: failing('refused') })
  readiness.require({ name: 'redis', setting: 'REDIS_URL', isOptional: true, check: failing('refused') })
  const { warn } = log()
  const { awaited, missing } = await checkReadiness(readiness, { warn })
  expect([awaited, Object.keys(missing)]).toEqual([['postgres'], ['postgres', 'redis']])
  expect(warn).toHaveBeenCalledWith({ reasons: missing }, 'not ready: waiting for postgres')
})

test('reasons have every message of an error, and no login of an address', async () => {
  const readiness = openReadiness()
  const errors = ['connect ECONNREFUSED ::1:5432', 'bad redis://user:hunter2@redis:6379/'].map(
    (text) => new Error(text),
  )
  readiness.require({
    name: 'postgres',
    setting: 'DATABASE_URL',
    check: () => Promise.reject(new AggregateError(errors)),
  })
  const reason = 'DATABASE_URL: connect ECONNREFUSED ::1:5432, bad redis://redis:6379/'
  expect(await readiness.check()).toEqual({ isReady: false, missing: { postgres: reason }, awaited: ['postgres'] })
})

test('a process that stops while it waits for a store is never ready, and no longer complains', async () => {
  const readiness = openReadiness()
  const late = Promise.withResolvers<void>()
  readiness.require({ name: 'postgres', setting: 'DATABASE_URL', check: () => late.promise })
  const { info, warn } = log()
  const logged = logWhenReady(readiness, { info, warn }, {})
  readiness.stopping()
  late.resolve()
  await logged
  expect(await checkReadiness(readiness, { warn })).toEqual({ isReady: false, missing: {}, awaited: [] })
  expect([info.mock.calls, warn.mock.calls]).toEqual([[], []])
})
