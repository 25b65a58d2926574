import { sql } from '@sluice/database'
import type { UploadContext } from './context.ts'
import { fileSizeProblem } from './path.ts'
import type { BucketUpload } from './uploads.ts'

/**
 * Reserves the bytes of a part before it is received. A part that is sent again replaces the earlier part with the same
 * number.
 *
 * Returns a description of the problem, and reserves nothing, if the parts together would exceed the limit for a file.
 * Returns undefined otherwise. This includes an upload that has ended, because storage then refuses the part.
 */
export async function reservePart(
  { db }: Pick<UploadContext, 'db'>,
  { appId, importId }: BucketUpload,
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
    const earlier = await tx
      .selectFrom('bucket_upload_parts')
      .select('byte_size')
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .where('part_number', '=', partNumber)
      .executeTakeFirst()
    const sum = upload.part_bytes - (earlier?.byte_size ?? 0) + byteSize
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
