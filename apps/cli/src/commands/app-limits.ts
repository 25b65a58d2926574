import { setAppLimits, showApp } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { fields } from '@sluice/client-cli/text'
import { maxProfileKeys, rateLimit } from '@sluice/config'
import { type Command, InvalidArgumentError } from 'commander'
import { withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { parseAppId, withDatabase } from '../stack.ts'

interface LimitOptions {
  app: number
  bulkImport?: string
  profileKeys?: string
}

export function addAppLimitsCommand(apps: Command): void {
  const command = apps
    .command('limits')
    .description('show or set the limits of an app; `default` makes the setting apply again')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .option('--bulk-import <rate>', 'first requests of v3 bulk imports, such as 100/10m', parseRate)
    .option('--profile-keys <number>', 'most profile keys', parseKeys)
    .action(async ({ app: appId, bulkImport, profileKeys }: LimitOptions) => {
      if (bulkImport !== undefined || profileKeys !== undefined) {
        const target = `bulk imports ${bulkImport ?? 'unchanged'}, profile keys ${profileKeys ?? 'unchanged'}`
        const changes = { bulkImport: toLimit(bulkImport, String), profileKeys: toLimit(profileKeys, Number) }
        await withAudit(
          { appId, what: 'app.limits', target },
          (db) => setAppLimits(db, appId, changes),
          (isChange) => ({ outcome: outcomeOf(isChange) }),
        )
      }
      const { limits } = await withDatabase((db) => showApp(db, appId))
      print(command, { app_id: appId, ...limits }, () =>
        fields({
          App: String(appId),
          'Bulk imports': limits.bulk_import ?? 'as the setting says',
          'Profile keys': limits.profile_keys ?? 'as the setting says',
        }),
      )
    })
}

/** The value of an option that removes the app's own limit, so that the setting applies again. */
const noLimit = 'default'

/** Returns the limit that an option states: undefined if it is absent, null for {@link noLimit}. */
function toLimit<Limit>(text: string | undefined, parse: (text: string) => Limit): Limit | null | undefined {
  if (text === undefined) return undefined
  return text === noLimit ? null : parse(text)
}

function parseRate(text: string): string {
  if (text !== noLimit && !rateLimit.safeParse(text).success)
    throw new InvalidArgumentError('It must be a rate such as 100/10m, or default.')
  return text
}

function parseKeys(text: string): string {
  if (text !== noLimit && (!/^[1-9]\d{0,5}$/.test(text) || Number(text) > maxProfileKeys))
    throw new InvalidArgumentError(`It must be a number from 1 to ${maxProfileKeys}, or default.`)
  return text
}
