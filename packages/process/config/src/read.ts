import type { z } from 'zod'
import { type Environment, secretText, type Text, withPasswordFile } from './secret-files.ts'
import type { Setting } from './setting.ts'
import { type SettingName, type Settings, settings } from './settings.ts'

/** Settings are missing or malformed. The message has one line per setting, and never a value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
}

/**
 * Reads and checks settings (design.md §2, Missing settings). A process calls it once, at its start.
 *
 * Accepts an environment and the names of the settings that the process uses, and the list that has them if it is an
 * app's own. An empty variable counts as unset. A secret may also be in a file that `NAME_FILE` names.
 * Returns the typed values. Throws {@link SettingsError}, which names every bad setting at once. A secret that
 * infra/compose.yaml publishes is bad, unless `PUBLISHED_SECRETS` is `accept`.
 *
 * @example
 * ```ts
 * readSettings({ IMPORT_LEASE: '30s' }, ['IMPORT_LEASE', 'WORKER_QUEUES']).IMPORT_LEASE // → 30000
 * ```
 */
export function readSettings<const Name extends SettingName>(
  environment: Environment,
  names: readonly Name[],
): Settings<Name>
export function readSettings<Schema extends z.ZodType>(
  environment: Environment,
  names: readonly string[],
  from: Readonly<Record<string, Setting<Schema>>>,
): Record<string, z.output<Schema>>
export function readSettings(
  environment: Environment,
  names: readonly string[],
  from: Readonly<Record<string, Setting<z.ZodType>>> = settings,
): Record<string, unknown> {
  const acceptsPublished = environment.PUBLISHED_SECRETS === 'accept'
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of names) {
    const setting = from[name]
    if (setting === undefined) throw new Error(`there is no setting ${name}`)
    const given = givenText(environment, name, setting)
    if ('problem' in given) {
      problems.push(given.problem)
      continue
    }
    const text = given.text || setting.default
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
  return values
}

/** Whether the environment has a value for a setting, in its variable or, if it is secret, in a file. */
export function isSet(environment: Environment, name: SettingName): boolean {
  return Boolean(environment[name] || (isSecret(name) && environment[`${name}_FILE`]))
}

function givenText(environment: Environment, name: string, { secret }: Setting<z.ZodType>): Text {
  if (!secret) return { text: environment[name] }
  const given = secretText(environment, name)
  const isAddress = name === 'DATABASE_URL' && 'text' in given && given.text
  return isAddress ? withPasswordFile(environment, isAddress) : given
}

/**
 * Returns an environment in which each secret is in its variable, even if it came from a file. Throws
 * {@link SettingsError} if a file cannot be read.
 */
export function readSecretFiles(environment: Environment): Environment {
  const names = Object.keys(settings).filter((name) => environment[`${name}_FILE`] && isSecret(name))
  const texts = names.map((name) => [name, secretText(environment, name)] as const)
  const problems = texts.flatMap(([, text]) => ('problem' in text ? [text.problem] : []))
  if (problems.length > 0) throw new SettingsError(`Settings:\n  ${problems.join('\n  ')}`)
  return {
    ...environment,
    ...Object.fromEntries(texts.flatMap(([name, text]) => ('text' in text ? [[name, text.text]] : []))),
    ...Object.fromEntries(names.map((name) => [`${name}_FILE`, undefined])),
  }
}

/** Whether a setting is secret or contains a secret. */
export function isSecret(name: string): boolean {
  return Object.entries(settings).some(([each, setting]) => each === name && 'secret' in setting)
}

/** Secrets in infra/compose.yaml, which runs without set-up. Everybody can read them there. */
const encryptionKey = Buffer.from('Zm9yIHRyeWluZyBpdCBvdXQsIG5vdGhpbmcgZWxzZSE=', 'base64')
const storageSecret = 'sluice-secret'

/** Whether a setting's value is, or contains, a secret that infra/compose.yaml publishes. */
function isPublished(name: string, text: string): boolean {
  if (name === 'S3_SECRET_ACCESS_KEY') return text === storageSecret
  // The bytes are compared, since base64 has several spellings of the last byte.
  return (
    name === 'ENCRYPTION_KEYS' && text.split(',').some((key) => Buffer.from(key.trim(), 'base64').equals(encryptionKey))
  )
}
