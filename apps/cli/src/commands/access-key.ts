import {
  createAccessKey,
  deleteAccessKey,
  listAccessKeys,
  reencryptSecrets,
  TooManyAccessKeys,
} from '@sluice/access-keys'
import { requireApp } from '@sluice/accounts'
import { outcomeOf } from '@sluice/audit-log'
import { reencryptEndpointSecrets } from '@sluice/webhooks'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { fields, print, table } from '../output.ts'
import { encryptionKeys, parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice key create`, `sluice key list`, `sluice key delete` and `sluice key reencrypt`. */
export function addAccessKeyCommands(program: Command): void {
  const key = program.command('key').description('manage access keys of the S3 gateway')
  addCreateCommand(key)
  addListCommand(key)
  addDeleteCommand(key)
  addReencryptCommand(key)
}

function addCreateCommand(key: Command): void {
  const create = key
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

function addListCommand(key: Command): void {
  const list = key
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
      const rows = shown.map((row) => ({
        'ACCESS KEY ID': row.access_key_id,
        CREATED: row.created_at,
        'LAST USED': row.last_used_at,
      }))
      print(list, shown, () => table(rows, 'No access keys.'))
    })
}

function addDeleteCommand(key: Command): void {
  const remove = key
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
      if (!deleted) throw new Failure(`app ${app} has no access key ${JSON.stringify(accessKeyId)}`)
      print(remove, { access_key_id: accessKeyId }, () => `Deleted ${accessKeyId}`)
    })
}

function addReencryptCommand(key: Command): void {
  const reencrypt = key
    .command('reencrypt')
    .description('encrypt all secrets with the first of ENCRYPTION_KEYS; the other keys can then be removed')
    .action(async () => {
      const keys = await encryptionKeys()
      const reencrypted = await withAudit(
        { appId: undefined, what: 'access_key.reencrypt' },
        async (db) => (await reencryptSecrets(db, keys)) + (await reencryptEndpointSecrets(db, keys)),
        (secrets) => ({ outcome: outcomeOf(secrets > 0), target: `${secrets} secrets` }),
      )
      print(reencrypt, { reencrypted }, () => `Secrets re-encrypted: ${reencrypted}`)
    })
}
