"""Words so common in English talk about a life that one of them alone tells nothing of a fact.

`redaction` asks: a sentence that shares one of these with a forgotten fact may be
about anything, one that shares a rarer word is taken to be about that fact.
"""

from __future__ import annotations

_WORDS = """
able accept accident account achieve act action active activity actually adapt add admire admit adopt adult
advantage adventure advice advise afford afraid afternoon again age ago agree aim air airport alarm alcohol
alive allow almost alone already also always amount angry animal announce annual another answer anxious
anybody anyone apartment apologize appear apple apply appointment approve april area argue arm army arrange
arrive art article ashamed ask aspect assistant assume attach attack attend attention attractive august aunt
autumn available average avoid aware away awful awkward baby back bad bag ball banana band bank bar base basis
basket bath bathroom be beach bean bear beat beauty become bed bedroom beer begin behave behavior behaviour
believe bell belong belt benefit best better bicycle big bike bill bird birth birthday bite black blame block
blood blow blue board boat body bone book boring borrow boss bottle bottom bowl box boy boyfriend brain branch
brave bread break breakfast breathe bridge bright bring broken brother brown brush budget build building bunch
burn bus business busy button buy cake call calm camera camp cancel candle cap capital car card care career
careful carpet carry case cash cat catch category cause ceiling celebrate cell center centre certain chair
challenge chance change chapter character charge chat cheap check cheer cheese chicken child children
chocolate choice choose christmas church cigarette cinema circle city claim class clean clear clever click
climb close closed cloth clothes club coat code coffee cold colleague collect collection college color colour
column combine come comfortable comment common community company compare competition complain complete
computer concern concert condition confident confirm confused connect connection consider contact contain
content context continue contract contribute control conversation cook cool cope copy corner correct cost
count country couple courage course court cousin cover crash crazy cream create credit crime cry culture cup
cupboard curious currently customer cut cute dad daily damage dance danger dangerous dare date daughter day
deadline deal dear death debt december decide decision decorate deep define degree delete delicious deliver
department depend describe deserve design desk dessert destroy detail develop die different difficult dig
digital dinner direction dirty disagree disappear discover discuss dish dislike distance divide do doctor dog
door double down draw dream dress drink drive driver drop drug dry due duty each eager ear early earn earth
easter easy eat economy edge education effect effort egg eight either electric electricity element email
embarrassed emotional employ empty encourage end energy engine enjoy enough enter entrance environment equal
equipment error escape essential establish estimate even evening event every everybody everyone evidence evil
exact exam examine example excellent excited exciting excuse exercise exist expect expensive experience expert
explain explore express expression extend extra eye face fact factory fail failure fair faith fall false
familiar family famous fan far farm fashion fast father fault favorite favourite fear feature february feed
feel feeling festival few field fight figure file fill film finance find fine finger finish fire first fish
fit fitness five fix fixed flat flavor flavour flight float floor flower fly focus fold follow food force
foreign forest forget forgive form formal former found four free freedom freeze fresh friday fridge friend
friendly frighten fruit full function funny furniture further future gain game garage garden gas gate gather
general gentle get gift girl girlfriend give glad glass global go goal goals gold good government grab grade
grandfather grandma grandmother grandpa grass grateful gray great green greet grey grocery ground group grow
growth guess guest guide guilty guitar gun guy gym habit hair half hall hand handle hang happen happy hard
harm hate have head health healthy hear heart heat height hello help here hey hi hide high hire history hit
hobby hold hole holiday home hope horse hospital host hot hotel hour house hug huge hundred hungry hurry hurt
husband ice idea identify ignore ill illegal image imagine importance important impossible impress improve
include income increase independent individual industry influence info inform information injury ink inner
insist install insurance intelligent intend interest interesting international introduce invent invest
investigate invite iron island issue itch item jacket january jealous job join judge juice july jump june keen
keep key keyboard kick kid kill kind kiss kitchen knife knock know knowledge lack lake lamp land language
laptop large last late later latest laugh law lawyer lay lazy lead leader leaf learn least leave lecture left
leg legal lend length less lesson let letter level library licence license lie life light like likely limit
line link lip list listen little live load local location lock lonely long look lose loss lot loud love lovely
low luck lucky lunch machine mad magazine mail main major make man manage manager manner many map march mark
market marriage married marry match material math maths matter may maybe meal mean measure meat medical
medicine meet meeting melt member memories memory mend mental mention mess message metal method middle milk
million mind minute mirror miss mistake mix modern mom moment monday money monitor month monthly mood moon
morning mother mountain mouse mouth move movie much mum murder muscle museum music name narrow national
natural nature near necessary neck need negative neighbor neighbour neither nerve nervous network never new
news next nice night nine no nobody noise noon normal nose not note notice november number nurse obey object
observe obtain obvious occur october odd offer office official often oh oil ok okay old once one onion online
open operate opinion opportunity opposite option orange order ordinary organization organize original outside
overall owe own owner pack page pain paint pair pan pants paper parent park parking part participate
particular partner party pass password past path patient pay peace pen pencil people pepper perfect perform
perhaps period permission person personal pet phase phone photo photograph physical piano pick picture pie
piece pizza place plan plane plans plant plate play player pleasant please pleasure plenty pocket point police
policy polite political pool poor popular population position positive possession possible post pot potato
pour power powerful practice practise pray prefer preference preferences pregnant prepare presence present
president press pressure pretend pretty prevent previous price pride print private probably problem process
produce product profession professor profit program project promise property protect proud prove provide
public publish pull punch pure purpose push put quality quantity quarter queen question quick quiet quite race
radio rain raise range rare rate rather reach react read ready real realise reality realize really reason
receive recently recipe recognize recommend record red reduce refer refuse region regret regular reject relate
relation relationship relax release relevant religion rely remember remind remove rent repair repeat replace
reply report represent request require rescue research reserve resist respect respond response responsible
rest restaurant result retire return reveal review rice rich ride right ring rise risk river road rock role
roll roof room rough round rub rude rule run rush sad safe safety sail salad salary sale salt same sand
satisfy saturday sauce save say scale scare scared scene schedule school science score screen sea search
season seat second secret section security see seem select self sell send sense sentence separate september
series serious serve service set settle seven several sex shake shape share sharp sheet shelf shine ship shirt
shock shoe shoot shop short shoulder shout show shower shut shy sick side sight sign signal silence silent
silly similar similarity simple since sing single sister sit site situation six size skill skin skirt sky
sleep slight slip slow small smart smell smile smoke smooth snack sneeze snow soap social society sock soft
software soil solid solution solve somebody someone sometimes son song soon sorry sort sound soup source space
speak special specific speech speed spell spend spill spirit split spoon sport spot spouse spread spring
square squeeze stable staff stage stair stand star stare start state statement station stay steak step stick
still sting stir stock stomach stone stop store stored story straight strange strategy street stress stretch
strict strike strong structure struggle student study stuff stupid style subject succeed success successful
sudden suffer sugar suggest suit suitable summer sun sunday supply support suppose sure surface surgery
surprise surprised surround suspect sweet swim switch system table tail take talk tall target task taste tasty
tax tea teach teacher team technology television tell temperature ten tend tennis term terrible test text
thank thanks theory there thick thin thing think third thought thousand three throat throw thursday ticket tie
tight time tiny tip tired title today toe together toilet tomato tomorrow tongue tonight too tooth top topic
total touch tough tour towel tower town toy trade tradition traditional traffic train training transfer
translate travel treat tree trip trouble true trust truth try tuesday tune turn twice two type typical ugly
unable uncle understand unhappy uniform unique unit university unknown unlikely until up update upper upset
use used useful user usual usually vacation value variety various vary vast vegetable video view village
visible visit voice volume volunteer vote wait wake walk wall wander want war warm warn wash waste watch water
wave way weak wealth wear weather web website wedding wednesday week weekend weekly weigh weight welcome well
wet wheel whisper white whole wide wife wild will willing win wind window wine wing winter wipe wise wish
woman wonder wonderful wood wooden word work worker world worry worse worst worth wrap write writer writing
wrong yard year yearly yell yellow yes yesterday yet young youth zone
"""
COMMON_WORDS = frozenset(_WORDS.split())
