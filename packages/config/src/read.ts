import { isPublished } from './published-secrets.ts'
import { type SettingName, type Settings, settings } from './settings.ts'

/** Settings are missing or malformed. The message has one line per setting, and never a value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/**
 * Reads and checks settings. A process calls it once, at its start.
 *
 * Accepts an environment and the names of the settings that the process uses. An empty variable counts as unset.
 * Returns the typed values. Throws {@link SettingsError}, which names every bad setting at once. A secret that
 * infra/compose.yaml publishes is bad, unless `PUBLISHED_SECRETS` is `accept`.
 *
 * @example
 * ```ts
 * readSettings({ IMPORT_LEASE: '30s' }, ['IMPORT_LEASE', 'WORKER_QUEUES']).IMPORT_LEASE // → 30000
 * ```
 */
export function readSettings<const Name extends SettingName>(
  environment: Record<string, string | undefined>,
  names: readonly Name[],
): Settings<Name> {
  const acceptsPublished = environment.PUBLISHED_SECRETS === 'accept'
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const setting = settings[name]
    const text = environment[name] || ('default' in setting ? setting.default : undefined)
    if (text === undefined) {
      if (!('optional' in setting)) problems.push(`${name} is not set (${setting.description})`)
      continue
    }
    if (!acceptsPublished && isPublished(name, text)) {
      problems.push(`${name} is the value that infra/compose.yaml publishes: make your own`)
      continue
    }
    const result = setting.schema.safeParse(text)
    if (result.success) values[name] = result.data
    else problems.push(`${name} ${result.error.issues.map((issue) => issue.message).join(', ')}`)
  }
  if (problems.length > 0) throw new SettingsError(`Settings:\n  ${problems.join('\n  ')}`)
  return values as Settings<Name>
}
