import { expect, test } from 'vitest'
import { readSettings } from './read.ts'

const [day, gib] = [86_400_000, 2 ** 30]

// design.md §2, Ports; design.md §3; design.md §4, 8; second-day.md §6, History; second-day.md §7, Storage;
// changes.md §1, The changes file; changes.md §2, The decision.
test('the defaults are those of the specification', () => {
  const defaults = {
    API_HOST: '127.0.0.1',
    DASHBOARD_HOST: '127.0.0.1',
    S3_GATEWAY_HOST: '127.0.0.1',
    UPLOAD_ORDER_WAIT: 30_000,
    ERROR_FILE_LIMIT: gib,
    WAITING_IMPORTS_LIMIT: 1_000,
    RATE_LIMIT_BUCKET_IMPORT: { requests: 600, windowMs: 600_000 },
    RATE_LIMIT_DASHBOARD_IMPORT: { requests: 60, windowMs: 600_000 },
    INFERENCE_ROWS: 1_000,
    PROFILE_KEY_LIMIT: 500,
    UNCOMPRESSED_LIMIT: 4 * gib,
    FILE_RETENTION_DAYS: 7,
    SERVICE_TIMEZONE: 'UTC',
    IMPORT_ATTEMPTS: 5,
    HISTORY_RETENTION_DAYS: 400,
    S3_PATH_STYLE: true,
    WEBHOOK_ALLOW_HTTP: false,
    CHANGES_FILE_LIMIT: gib,
  } as const
  expect(readSettings({}, Object.keys(defaults) as (keyof typeof defaults)[])).toEqual(defaults)
  expect(readSettings({}, ['HOLD_LIMIT']).HOLD_LIMIT).toMatchObject({ ms: 3 * day })
})
