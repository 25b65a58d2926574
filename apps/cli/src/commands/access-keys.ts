import {
  createAccessKey,
  deleteAccessKey,
  listAccessKeys,
  reencryptSecrets,
  TooManyAccessKeys,
} from '@sluice/access-keys'
import { requireApp } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { Failure } from '@sluice/client-cli/failure'
import { count, fields } from '@sluice/client-cli/text'
import { reencryptEndpointSecrets } from '@sluice/webhooks'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { print, printList } from '../output.ts'
import { encryptionKeys, parseAppId, withDatabase } from '../stack.ts'

/** Adds the verbs of `sluice access-keys`. */
export function addAccessKeyCommands(accessKeys: Command): void {
  addCreateCommand(accessKeys)
  addListCommand(accessKeys)
  addDeleteCommand(accessKeys)
  addReencryptCommand(accessKeys)
}

function addCreateCommand(accessKeys: Command): void {
  const create = accessKeys
    .command('create')
    .description('create an access key; its secret is shown only here')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async ({ app }: { app: number }) => {
      const keys = await encryptionKeys()
      const accessKey = await withAudit(
        { appId: app, what: 'access_key.create' },
        (db) => createAccessKey(db, keys, app),
        ({ accessKeyId }) => ({ target: accessKeyId }),
      ).catch((error: unknown) => {
        throw error instanceof TooManyAccessKeys ? new Failure(error.message) : error
      })
      print(create, { access_key_id: accessKey.accessKeyId, secret_access_key: accessKey.secretAccessKey }, () =>
        fields({ 'Access key ID': accessKey.accessKeyId, 'Secret access key': accessKey.secretAccessKey }),
      )
    })
}

function addListCommand(accessKeys: Command): void {
  const list = accessKeys
    .command('list')
    .description('access keys of an app, newest first')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async ({ app }: { app: number }) => {
      const found = await withDatabase(async (db) => {
        await requireApp(db, app)
        return await listAccessKeys(db, app)
      })
      const shown = found.map(({ accessKeyId, createdAt, lastUsedAt }) => ({
        access_key_id: accessKeyId,
        created_at: createdAt.toISOString(),
        last_used_at: lastUsedAt?.toISOString() ?? null,
      }))
      const rows = found.map(({ accessKeyId, createdAt, lastUsedAt }) => ({
        'ACCESS KEY ID': accessKeyId,
        CREATED: createdAt,
        'LAST USED': lastUsedAt,
      }))
      printList(list, shown, rows, 'No access keys.')
    })
}

function addDeleteCommand(accessKeys: Command): void {
  const remove = accessKeys
    .command('delete')
    .description('delete an access key; requests signed with it are refused at once')
    .argument('<access-key-id>')
    .requiredOption('--app <id>', 'ID of the app', parseAppId)
    .action(async (accessKeyId: string, { app }: { app: number }) => {
      const deleted = await withAudit(
        { appId: app, what: 'access_key.delete', target: accessKeyId },
        (db) => deleteAccessKey(db, app, accessKeyId),
        (found) => ({ outcome: found ? 'done' : 'refused' }),
      )
      if (!deleted)
        throw new Failure(
          `app ${app} has no access key ${JSON.stringify(accessKeyId)}`,
          1,
          `sluice access-keys list --app ${app} shows them`,
        )
      print(remove, { access_key_id: accessKeyId }, () => `Deleted ${accessKeyId}`)
    })
}

/** Without this, a shell with the old key alone would suggest that the old key can be removed. */
const oneKey =
  '\n\nENCRYPTION_KEYS of this command has one key only. To replace a key, give the new key and the old one, as the processes have them.'

function addReencryptCommand(accessKeys: Command): void {
  const reencrypt = accessKeys
    .command('reencrypt')
    .description('encrypt all secrets with the first of ENCRYPTION_KEYS; the other keys can then be removed')
    .action(async () => {
      const keys = await encryptionKeys()
      const reencrypted = await withAudit(
        { appId: undefined, what: 'access_key.reencrypt' },
        async (db) => (await reencryptSecrets(db, keys)) + (await reencryptEndpointSecrets(db, keys)),
        (secrets) => ({ outcome: outcomeOf(secrets > 0), target: `${secrets} secrets` }),
      )
      print(
        reencrypt,
        { reencrypted },
        () => `Secrets re-encrypted: ${count(reencrypted)}${keys.length > 1 ? '' : oneKey}`,
      )
    })
}
