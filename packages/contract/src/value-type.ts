/** The types of profile values (service.md, Profile entry). A key keeps its type for good. */
export const valueTypes = ['string', 'int', 'decimal', 'datetime'] as const

export type ValueType = (typeof valueTypes)[number]
