import { expect, test } from 'vitest'
import { refusals } from '../environment/refused-settings.ts'
import { runSluice } from '../environment/sluice-command.ts'

// Deletion dates are irrevocable: no process that computes them starts with a time zone that it does not know.
const settings = {
  API_URL: 'http://api.test',
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  MAIL_FROM: 'no-reply@example.com',
  S3_ACCESS_KEY_ID: 'none',
  S3_BUCKET: 'none',
  S3_ENDPOINT: 'http://127.0.0.1:1',
  S3_SECRET_ACCESS_KEY: 'none',
  SMTP_URL: 'smtp://127.0.0.1:1',
}
const problem = 'Settings:\\n {2}SERVICE_TIMEZONE must be an IANA time zone such as [^\\n]*\\n'

test.each(['Mars/Olympus_Mons', '+09:00', 'Berlin'])(
  'a command refuses the unknown time zone %s at its start, and names the setting',
  async (timeZone) => {
    const environment = { ...settings, SERVICE_TIMEZONE: timeZone }
    const refused = { code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(`^sluice: ${problem}$`)) }
    expect(await runSluice(['deletions', 'run'], environment)).toEqual(refused)
  },
)

test('API and worker refuse an unknown time zone at their start, and name the setting', async () => {
  const refused = expect.stringMatching(new RegExp(`^${problem}exit 1\n$`))
  expect(await refusals(['api', 'worker'], { ...settings, SERVICE_TIMEZONE: '+09:00' })).toEqual(
    new Map([
      ['api', refused],
      ['worker', refused],
    ]),
  )
})
