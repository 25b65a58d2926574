import { setAppLimits, showApp } from '@sluice/accounts'
import { rateLimit } from '@sluice/config'
import { type Command, InvalidArgumentError } from 'commander'
import { withAudit } from '../audit.ts'
import { fields, print } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

interface LimitOptions {
  app: number
  bulkImport?: string | null
  profileKeys?: number | null
}

/** Adds `sluice app limits`. */
export function addAppLimitsCommand(app: Command): void {
  const command = app
    .command('limits')
    .description('show or set the limits of an app; `default` makes the setting apply again')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .option('--bulk-import <rate>', 'first requests of v3 bulk imports, such as 100/10m', parseRate)
    .option('--profile-keys <number>', 'most profile keys', parseKeys)
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ app: appId, bulkImport, profileKeys }: LimitOptions) => {
      const changes = { bulkImport, profileKeys }
      if (bulkImport !== undefined || profileKeys !== undefined) {
        const target = `bulk imports ${bulkImport ?? 'unchanged or default'}, profile keys ${profileKeys ?? 'unchanged or default'}`
        await withAudit({ appId, what: 'app.limits', target }, (db) => setAppLimits(db, appId, changes))
      }
      const { limits } = await withDatabase((db) => showApp(db, appId))
      print(command, { app_id: appId, ...limits }, () =>
        fields({
          App: appId,
          'Bulk imports': limits.bulk_import ?? 'as the setting says',
          'Profile keys': limits.profile_keys ?? 'as the setting says',
        }),
      )
    })
}

function parseRate(text: string): string | null {
  if (text === 'default') return null
  if (!rateLimit.safeParse(text).success)
    throw new InvalidArgumentError('It must be a rate such as 100/10m, or default.')
  return text
}

function parseKeys(text: string): number | null {
  if (text === 'default') return null
  if (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > maxProfileKeys)
    throw new InvalidArgumentError(`It must be a number from 1 to ${maxProfileKeys}, or default.`)
  return Number(text)
}

/** As for the setting `PROFILE_KEY_LIMIT`. */
const maxProfileKeys = 100_000
