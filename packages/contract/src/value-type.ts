/** The types of profile values (service.md, Profile entry). The type of a key never changes. */
export const valueTypes = ['string', 'int', 'decimal', 'datetime'] as const

export type ValueType = (typeof valueTypes)[number]
