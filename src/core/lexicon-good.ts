// Words that speak well of something. Base forms: plurals, -ed, -ing and -ly are made of them.

/** Strong praise: two points each. */
export const DELIGHT = `
  adorbs adore amazing astonishing astounding awesome beautiful best bewitching blissful bravo
  breathtaking brilliant bussin dazzling delighted delightful divine ecstatic elated epic
  excellent exceptional exemplary exquisite extraordinary fabulous fantastic faultless flawless
  game-changer game-changing gem genius glorious goated godsend gorgeous grateful heavenly
  hooray hyped impeccable incredible jaw-dropping kudos legend legendary life-saver lifesaver
  love lovely magical magnificent majestic marvellous marvelous masterful masterpiece
  mesmerising mind-blowing miraculous outstanding overjoyed peerless perfect perfection
  phenomenal priceless remarkable sensational spectacular splendid stellar stoked stunning
  sublime superb superbly superior superlative supreme terrific thrilled top-notch treasure
  triumph unbeatable unforgettable unmatched unparalleled unrivaled unrivalled wonderful
  wondrous woohoo world-class wow yay
`

/** Plain praise: one point each. */
export const LIKING = `
  acclaimed accommodating addictive admirable admire adorable affordable agreeable alluring
  amused amusing appealing appetizing applaud appreciate appreciation appreciative approachable
  attentive attractive bargain beloved blazing-fast bless blessed blessing blissfully calming
  captivating caring chad charm charming cheerful cherish classy clever comfortable comfy
  commend commendable compassionate compelling competent compliment congrats congratulate
  congratulations congratz considerate convenience convenient convincing cool cosy courteous
  cozy crisp crispy crowd-pleaser cuddly cute cutie decent delicate delicious delightfully
  delish dependable desirable diligent dope easy elegance elegant eloquent enchanting
  encouraging endearing engaging enjoy enjoyable enjoyment enlightening entertain entertaining
  enthusiasm enthusiastic excited excitement exciting exhilarating fascinate fascinating
  flavorful flavourful fluffy fond fondest fortunate fulfilling fun funny generous gentle
  gigachad glad good graceful gracious gratitude great greatest greatly gripping groundbreaking
  haha hahaha hahahaha handsome handy happier happiest happiness happy harmless harmonious
  harmony healthy heartening heartfelt heartwarming hearty helped helpful high-quality hilarious
  honor honored hooked hospitable humorous hurray hygienic hype ideal imaginative immaculate
  immersive impress impressed impressive ingenious insightful inspiration inspirational inspire
  inspiring intelligent intriguing intuitive invaluable inventive invigorating inviting jolly
  joy joyful joyous juicy kindness knowledgeable legit likable likeable liked lovable luckily
  luxurious meaningful memorable mesmerizing motivating mouth-watering mouthwatering must-have
  must-read must-see must-watch neat neatly nice nicely nicer nicest nifty noteworthy nourishing
  painless passionate pleasant pleased pleasing pleasure plentiful poignant polite praise
  precious prestigious promising proud proudly prowess purrfect rave reassuring recommend
  recommended recommending refreshing refreshingly rejoice reliability reliable responsive
  rewarding riveting rocked roomy satisfaction satisfied satisfy satisfying seamless seamlessly
  sincere slaps sleek slick smart smarter smiling smooth smoother snappy snug snuggly solid
  solved soothing soulful sparkling speedy spotless sturdy stylish superfast suspenseful sweet
  talented tasteful tasty tempting thankful thought-provoking thoughtful thoughtfully touching
  tranquil trustworthy truthful tuneful upbeat uplifting uproarious useful user-friendly vibrant
  well-acted well-built well-designed well-documented well-made well-written wholesome wisdom
  witty worthwhile worthy yippee youthful yum yummy zen
`

/** Facts that most people welcome, and no judgement by themselves: half a point each. */
export const FAVOUR = `
  abundant accessible accomplish accomplishment accuracy accurate achieve achievement advantage
  advantageous agile agree ambitious approval approve apt assure assured authentic award awarded
  balanced beneficial benefit better bonus boost bright calm capable celebrate celebration
  champion cheer clear-cut comfort competitive comprehensive confidence confident consistent
  creative creativity daring dedicated deserve deserving durable eager ease easier easiest
  economical educational effective effectively efficiency efficient effortless empower
  empowering encourage energetic enhance enhanced enhancement enrich exclusive expertly fair
  faithful famous fancy fast faster fastest favor favorable favorite favourite feature-rich
  festive fine fit flexibility flexible flourish fresh friendly genuine gift glow hero honest
  honesty hopeful humble improve improved improvement innovation innovative instructive justice
  keen kindly laugh lightweight likes lively logical lol loyal luck lucky luxury maintainable
  mature merit modern motivated optimal optimism optimistic optimized organized original
  outperform passion patient peace peaceful polished popular positive positively powerful
  practical precise premium privilege productive productivity professional proficient profit
  profitable progress prominent prompt prosper quality quick quicker quickest quiet readable
  reasonable refined relief relieve relieved resilient resolved resourceful respect respectful
  reward rich robust romantic safe safety satisfactory savvy scalable secure sensible sharp
  shine simple simpler simplicity simplify skilled skillful smile stability stable steady
  straightforward streamlined strength strong stronger succeed success successful suitable sunny
  supportive surpass sustainable swift tender thrive tidy timeless timely transparent treat
  trendy trust trusted unique usable valid valuable valued versatile victory vivid warm warmth
  welcome welcoming win winner winning wins wise won
`
