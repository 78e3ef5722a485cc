import type { User } from './model.ts'

/** Who wrote it. Of a deleted account only the mask is left, and `author_fullname` is missing. */
export function authorPart(author: User, masked: boolean): Record<string, unknown> {
  const flair = {
    author_flair_css_class: null,
    author_flair_text: null,
    author_flair_text_color: null,
    author_flair_background_color: null,
    author_flair_template_id: null,
  }
  if (masked || author.standing === 'deleted') return { author: '[deleted]', ...flair }
  return {
    author: author.name,
    author_fullname: `t2_${author.id}`,
    author_premium: author.premium,
    author_patreon_flair: false,
    author_flair_richtext: [],
    author_flair_type: 'text',
    ...flair,
  }
}

/** A post's label; the template's id is missing where there is no label. */
export function flairPart(flair: string | null): Record<string, unknown> {
  return {
    link_flair_text: flair,
    link_flair_css_class: null,
    link_flair_type: flair ? 'richtext' : 'text',
    link_flair_richtext: flair ? [{ e: 'text', t: flair }] : [],
    link_flair_text_color: 'dark',
    link_flair_background_color: flair ? '#edeff1' : '',
    ...(flair ? { link_flair_template_id: flairId(flair) } : {}),
  }
}

function flairId(flair: string): string {
  const hex = Bun.hash(flair).toString(16).padStart(16, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-11ee-8c90-${hex.slice(4, 16)}`
}
