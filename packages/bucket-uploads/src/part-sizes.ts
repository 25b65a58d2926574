import { sql } from '@sluice/database'
import type { BucketUploadContext } from './context.ts'
import { fileSizeProblem } from './path.ts'
import type { Upload } from './uploads.ts'

/**
 * Reserves the bytes of a part that is about to come. A part that is sent again takes the place of the former one.
 *
 * Returns what is wrong if the parts together would be more than a file may have: then nothing is reserved. Returns undefined
 * otherwise, also if the upload is in progress no longer: storage refuses the part then.
 */
export async function reservePart(
  { db }: Pick<BucketUploadContext, 'db'>,
  { appId, importId }: Upload,
  partNumber: number,
  byteSize: number,
): Promise<string | undefined> {
  return await db.transaction().execute(async (tx) => {
    const upload = await tx
      .selectFrom('bucket_uploads')
      .select('part_bytes')
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .forUpdate()
      .executeTakeFirst()
    if (upload === undefined) return undefined
    const former = await tx
      .selectFrom('bucket_upload_parts')
      .select('byte_size')
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .where('part_number', '=', partNumber)
      .executeTakeFirst()
    const sum = upload.part_bytes - (former?.byte_size ?? 0) + byteSize
    const problem = fileSizeProblem(sum)
    if (problem !== undefined) return problem
    await tx
      .insertInto('bucket_upload_parts')
      .values({ app_id: appId, import_id: importId, part_number: partNumber, byte_size: byteSize })
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'import_id', 'part_number']).doUpdateSet({ byte_size: sql`excluded.byte_size` }),
      )
      .execute()
    await tx
      .updateTable('bucket_uploads')
      .set({ part_bytes: sum })
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .execute()
    return undefined
  })
}
