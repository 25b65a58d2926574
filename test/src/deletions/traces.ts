import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { constants, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { type Database, sql } from '@sluice/database'
import { Redis } from 'ioredis'

/**
 * Columns with text or bytes that hold nothing which clients send about users: names of keys, settings, counts, hashes,
 * our own words, people of the app. A new column is entered here, or in `userData` of packages/engine/deletions.
 */
export const columnsWithoutUserData: Readonly<Record<string, readonly string[]>> = {
  access_keys: ['access_key_id', 'encrypted_secret'],
  api_tokens: ['last_four', 'token_hash'],
  app_moves: ['state'],
  apps: ['bulk_import_limit', 'hold_if', 'name', 'new_keys', 'row_hash_secret', 'user_hash_salt'],
  audit_log: ['address', 'outcome', 'request_id', 'target', 'what', 'who', 'who_type'],
  bucket_upload_parts: ['etag', 'md5'],
  bucket_uploads: ['checksum', 'storage_upload_id'],
  column_mappings: ['columns_hash', 'mapping'],
  deleted_users: ['user_hash'],
  deletion_requests: ['salt', 'state', 'token_last_four'],
  disk_reserve: ['filler'],
  exports: ['error', 'file_secret', 'keys', 'state'],
  idempotency_keys: ['body', 'function', 'key', 'request_hash'],
  import_chunks: ['file'],
  imports: [
    ...[
      'changes',
      'changes_file_key',
      'changes_file_secret',
      'checksum',
      'clear_marker',
      'columns',
      'content_type',
      'error',
      'error_counts',
      'error_file_key',
    ],
    ...[
      'error_file_secret',
      'etag',
      'held_reasons',
      'hold_if',
      'new_keys',
      'object_key',
      'previewed_keys',
      'profile_types',
      'signature_hash',
    ],
    ...['requested_by', 'source', 'spelling_counts', 'state', 'types', 'upload_hash'],
  ],
  invitation_mails: ['email'],
  invitations: ['email', 'invited_by', 'secret_hash'],
  kysely_migration: ['name', 'timestamp'],
  kysely_migration_lock: ['id'],
  mails: ['event', 'last_error', 'recipient', 'state'],
  members: ['email'],
  operators: ['email'],
  profile_keys: ['description', 'key', 'type'],
  provider_accounts: ['email', 'issuer', 'subject'],
  rate_limits: ['key'],
  recently_deleted_users: ['user_hash'],
  sessions: ['email', 'issuer', 'secret_hash', 'subject'],
  sign_in_links: ['email', 'return_path', 'secret_hash'],
  signing_keys: ['key'],
  unannounced_file_failures: ['file_hash'],
  undo_lines: ['keys', 'types'],
  webhook_deliveries: ['event', 'last_error', 'state', 'type'],
  webhook_endpoints: ['encrypted_secret', 'events', 'previous_secret', 'url'],
  workers: ['host', 'import_ids', 'queues'],
}

/** Returns the names of all columns with text or bytes in the service's own tables, as `table.column`. */
export async function columnsWithText(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.table_name || '.' || c.column_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
      and (c.udt_name = 'hstore'
        or c.data_type in ('text', 'json', 'jsonb', 'bytea', 'ARRAY', 'name', 'character varying'))
    order by c.table_name || '.' || c.column_name collate "C"
  `.execute(db)
  return rows.map(({ name }) => name)
}

/** Returns those of {@link columnsWithText} in which a text occurs. */
export async function columnsWith(db: Database, text: string): Promise<string[]> {
  const found: string[] = []
  for (const name of await columnsWithText(db)) {
    const [table = '', column = ''] = name.split('.')
    const value = sql`${sql.ref(column)}::text`
    const { rows } = await sql`
      select from ${sql.table(table)} where strpos(${value}, ${text}) > 0 or strpos(${value}, ${inHex(text)}) > 0 limit 1
    `.execute(db)
    if (rows.length > 0 || (name === 'import_chunks.content' && (await isInChunks(db, text)))) found.push(name)
  }
  return found
}

/** Whether a text occurs in changed rows, which are stored compressed. */
async function isInChunks(db: Database, text: string): Promise<boolean> {
  const chunks = await db.selectFrom('import_chunks').select('content').where('file', '=', 'changes').execute()
  return chunks.some(({ content }) => holds(content, text))
}

/** Returns a text as Postgres shows it within bytes. */
function inHex(text: string): string {
  return Buffer.from(text).toString('hex')
}

/** Returns the database's tables, queue included, in which a text occurs as text or as bytes. */
export async function tablesWith(db: Database, text: string): Promise<string[]> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') order by 1
  `.execute(db)
  const found: string[] = []
  for (const { name } of tables) {
    const { rows } = await sql`
      select from ${sql.raw(name)} t where strpos(t::text, ${text}) > 0 or strpos(t::text, ${inHex(text)}) > 0 limit 1
    `.execute(db)
    if (rows.length > 0 || (name === 'public.import_chunks' && (await isInChunks(db, text)))) found.push(name)
  }
  return found
}

/** Returns the files below a folder whose name or content holds a text. Content of gzip files is unpacked. */
export async function filesWith(folder: string, text: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true })
  const found: string[] = []
  for (const name of names) {
    const path = join(folder, name)
    const content = (await stat(path)).isFile() ? await readFile(path) : Buffer.of()
    if (name.includes(text) || holds(content, text)) found.push(name)
  }
  return found
}

/** Whether a text occurs in bytes, or in what they hold compressed. */
function holds(content: Buffer, text: string): boolean {
  return [content, unpacked(content)].some((bytes) => bytes.includes(text))
}

/** Returns what bytes hold compressed; themselves if they are not compressed. */
function unpacked(content: Buffer): Buffer {
  const start = content.toString('hex', 0, 4)
  if (start.startsWith('1f8b')) return gunzipSync(content, { finishFlush: constants.Z_SYNC_FLUSH })
  return start === '28b52ffd' ? zstdDecompressSync(content) : content
}

/** Returns the keys of a Redis database whose name or value holds a text. */
export async function redisKeysWith(redisUrl: string, text: string): Promise<string[]> {
  const redis = new Redis(redisUrl)
  try {
    const found: string[] = []
    for (const key of await redis.keys('*')) {
      const value = await readValue(redis, key)
      if (key.includes(text) || JSON.stringify(value).includes(text)) found.push(key)
    }
    return found.toSorted()
  } finally {
    redis.disconnect()
  }
}

async function readValue(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key)
  switch (type) {
    case 'none': // the key has expired since
      return null
    case 'string':
      return await redis.get(key)
    case 'hash':
      return await redis.hgetall(key)
    case 'list':
      return await redis.lrange(key, 0, -1)
    case 'set':
      return await redis.smembers(key)
    case 'zset':
      return await redis.zrange(key, '0', '-1')
    case 'stream':
      return await redis.xrange(key, '-', '+')
    default:
      throw new Error(`the Redis key ${key} is of the unknown type ${type}`)
  }
}

/** Empties the Redis database of a test file; each file uses a different `number`. Returns its URL. */
export async function emptyRedis(redisUrl: string, number: number): Promise<string> {
  const redis = new Redis(`${redisUrl}/${number}`)
  await redis.flushdb()
  redis.disconnect()
  return `${redisUrl}/${number}`
}
