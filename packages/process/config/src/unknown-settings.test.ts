import { expect, test } from 'vitest'
import { settings } from './settings.ts'
import { unknownSettings } from './unknown-settings.ts'

test.each([
  ['S3_REGOIN', 'S3_REGION'],
  ['IMPORT_CONCURENCY', 'IMPORT_CONCURRENCY'],
  ['DATABASE_URI', 'DATABASE_URL'],
  ['EMAIL_FROM', 'MAIL_FROM'],
  ['RATE_LIMIT_SIGNIN', 'RATE_LIMIT_SIGN_IN'],
  ['API_PORTS', 'API_PORT'],
  ['SMTP_HOST', undefined],
])('%s is unknown, and the nearest setting is %s, set or not', (name, nearest) => {
  expect(unknownSettings({ [name]: 'x' })).toEqual([{ name, nearest }])
  expect(unknownSettings({ [name]: 'x', [nearest ?? 'PATH']: 'y' })).toEqual([{ name, nearest }])
})

test('the limits of the API are known to the API, and misspelt ones have a nearest name', () => {
  const own = ['RATE_LIMIT_DELETION']
  expect(unknownSettings({ RATE_LIMIT_DELETION: '1/1s', RATE_LIMIT_DELETIONS: '1/1s' }, own)).toEqual([
    { name: 'RATE_LIMIT_DELETIONS', nearest: 'RATE_LIMIT_DELETION' },
  ])
  expect(unknownSettings({ RATE_LIMIT_DELETION: '1/1s' })).toEqual([])
})

test('settings, their files, and variables of others are no reason for a warning', () => {
  const others = {
    ...{ PGHOST: 'x', NODE_ENV: 'x', PATH: 'x', AWS_REGION: 'x', OTEL_SERVICE_NAME: 'x', npm_config_loglevel: 'x' },
    ...{ APP_PORT: '1', APP_URL: 'x', SHELL: 'x', SMTP_PORT: '3004', WORKERS: '2', SLUICE_HOME: 'x', S3_REGOIN: '' },
    ...{ REDIS_SERVICE_HOST: '10.0.0.1', REDIS_PORT: 'tcp://10.0.0.1:6379', REDIS_PORT_6379_TCP_ADDR: '10.0.0.1' },
  }
  const known = Object.fromEntries([...Object.keys(settings), 'DATABASE_URL_FILE'].map((name) => [name, 'x']))
  expect(unknownSettings({ ...known, ...others })).toEqual([])
})
